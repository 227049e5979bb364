/** Paths in the context of an action, compiled once and followed in many actions. */
import { skeleton } from '../../../../sdk/storage/skeleton.ts'

const isPlain = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The keys that may begin at each step of a path, shortest first, each with its skeleton. One key may span several steps, as in `{"a.b": 1}`. */
type Path = readonly (readonly { key: string; look: string }[])[]

export function pathOf(name: string): Path {
  const steps = name.split('.')
  return steps.map((_, from) =>
    steps.slice(from).map((_, more) => {
      const key = steps.slice(from, from + more + 1).join('.')
      return { key, look: skeleton(key) }
    }),
  )
}

/** Every value at a path, by own keys only. */
export function* valuesAt(level: unknown, path: Path, from = 0): Generator {
  if (from === path.length) {
    yield level
    return
  }
  if (!isPlain(level)) return
  let end = from
  for (const { key } of path[from]!) {
    end++
    if (Object.hasOwn(level, key)) yield* valuesAt(level[key], path, end)
  }
}

/** A key that looks like part of the path but is not; null if there is none. */
export function lookalikeAt(level: unknown, path: Path, from = 0): string | null {
  if (from === path.length || !isPlain(level)) return null
  const looks = keysBySkeleton(level)
  let end = from
  for (const { key, look } of path[from]!) {
    end++
    const fake = looks.get(look)?.find((one) => one !== key)
    if (fake !== undefined) return fake
    const below = Object.hasOwn(level, key) ? lookalikeAt(level[key], path, end) : null
    if (below !== null) return below
  }
  return null
}

/** Keys by their skeleton, cached for each object because many rules read the same context. */
const skeletons = new WeakMap<object, Map<string, string[]>>()

export function keysBySkeleton(level: Record<string, unknown>): Map<string, string[]> {
  let found = skeletons.get(level)
  if (!found) {
    found = new Map()
    for (const key of Object.keys(level)) {
      const look = skeleton(key)
      const same = found.get(look)
      if (same) same.push(key)
      else found.set(look, [key])
    }
    skeletons.set(level, found)
  }
  return found
}
