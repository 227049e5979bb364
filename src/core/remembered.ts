/** Results that are kept, since the workspaces of a process read the same files. */

/** A pure function of texts that keeps its latest results, `most` of them. What it returns must not be changed. */
export function remembered<G extends readonly string[], T>(make: (...given: G) => T, most: number): (...given: G) => T {
  const kept = new Map<string, T>()
  return (...given) => {
    const key = JSON.stringify(given)
    const result = kept.has(key) ? kept.get(key)! : make(...given)
    kept.delete(key)
    kept.set(key, result)
    if (kept.size > most) kept.delete(kept.keys().next().value!)
    return result
  }
}
