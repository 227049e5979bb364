/** Edits of stored values, as somebody with access to the files makes them. */

type Path = readonly (string | number)[]

/** Every leaf of a value, and every empty list or object, by the path to it. */
export function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  const inner = value !== null && typeof value === 'object' ? Object.entries(value) : []
  if (inner.length === 0) yield path
  for (const [key, one] of inner) yield* pathsOf(one, [...path, key])
}

const edited = (value: unknown): unknown =>
  typeof value === 'string' ? `${value}x` : typeof value === 'number' ? value + 1 : value === null ? 1 : null

/** The value with what is at a path replaced. */
export function withEdit(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined) return edited(value)
  const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...(value as object) }
  copy[first] = withEdit(copy[first], rest)
  return copy
}
