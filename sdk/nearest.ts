/** Near spellings: the known name or word that a wrong one was probably meant to be. */

/**
 * Letters inserted, dropped, replaced or swapped with their neighbour to get from one word to the other; more than `limit` is
 * `limit + 1`. @see Damerau, A technique for computer detection and correction of spelling errors (1964)
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  // Three rows of the table, used in rotation.
  let [before, row, next] = [
    new Uint16Array(b.length + 1),
    new Uint16Array(b.length + 1),
    new Uint16Array(b.length + 1),
  ]
  for (let j = 0; j <= b.length; j++) row[j] = j
  for (let i = 1; i <= a.length; i++) {
    next[0] = i
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a.charCodeAt(i - 1) === b.charCodeAt(j - 1)
      let edits = same ? row[j - 1]! : 1 + Math.min(row[j]!, next[j - 1]!, row[j - 1]!)
      if (
        !same &&
        i > 1 &&
        j > 1 &&
        a.charCodeAt(i - 1) === b.charCodeAt(j - 2) &&
        a.charCodeAt(i - 2) === b.charCodeAt(j - 1)
      )
        edits = Math.min(edits, before[j - 2]! + 1)
      next[j] = edits
      if (edits < least) least = edits
    }
    if (least > limit) return limit + 1
    ;[before, row, next] = [row, next, before]
  }
  return Math.min(row[b.length]!, limit + 1)
}

/** The name most like `given`, if one is near enough to be meant; of two, the one closer in length. If none is, the only one of which it is a part: `alternatives` of `alternatives_considered`. */
export function nearest(given: string, names: readonly string[]): string | null {
  const wanted = given.slice(0, 64).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  const ranked = names
    .map((name) => ({ name, apart: editDistance(wanted, name, limit) }))
    .sort(
      (a, b) => a.apart - b.apart || Math.abs(a.name.length - wanted.length) - Math.abs(b.name.length - wanted.length),
    )
  if (ranked[0] && ranked[0].apart <= limit) return ranked[0].name
  const longer = names.filter((name) => `_${name}_`.includes(`_${wanted}_`))
  return longer.length === 1 ? longer[0]! : null
}
