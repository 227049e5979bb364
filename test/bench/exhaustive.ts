/** The nearest decisions by looking at every one: what the answers of an index are compared with. */
import type { Feed } from '../../sdk/storage/store.ts'

const page = 2_000
/** What the rounding of sums of floats may differ by. */
const rounding = 1e-6

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < other.length; at++) sum += one[at]! * other[at]!
  return sum
}

/** For each question the ids of the `k` nearest decisions, with those that are as near as the last of them. */
export async function nearestIds(feed: Feed, questions: readonly Float32Array[], k: number): Promise<Set<string>[]> {
  const { active } = await feed.head()
  const found: { id: string; near: number }[][] = questions.map(() => [])
  for (let after = 0; ; ) {
    const entries = await feed.since(after, active?.number ?? 0, page)
    if (entries.length === 0) break
    after = entries.at(-1)!.seq
    for (const { id, vectors } of entries)
      if (vectors)
        for (const [at, question] of questions.entries()) found[at]!.push({ id, near: dot(question, vectors.both) })
    for (const [at, all] of found.entries()) {
      const sorted = all.sort((one, other) => other.near - one.near)
      const last = sorted[Math.min(k, sorted.length) - 1]?.near ?? 0
      found[at] = sorted.filter(({ near }) => near >= last - rounding)
    }
  }
  return found.map((all) => new Set(all.map(({ id }) => id)))
}
