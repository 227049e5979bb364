/** Near spellings: the known name or word that a wrong one was probably meant to be. */

/**
 * Letters inserted, dropped, replaced or swapped with their neighbour to get from one word to the other; more than `limit` is
 * `limit + 1`. @see Damerau, A technique for computer detection and correction of spelling errors (1964)
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    if (Math.min(...next) > limit) return limit + 1
    before = row
    row = next
  }
  return Math.min(row[b.length]!, limit + 1)
}

/** The name most like `given`, where one is near enough to be meant. */
export function nearest(given: string, names: readonly string[]): string | null {
  const wanted = given.slice(0, 64).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  const ranked = names
    .map((name) => ({ name, apart: editDistance(wanted, name, limit) }))
    .sort((a, b) => a.apart - b.apart)
  return ranked[0] && ranked[0].apart <= limit ? ranked[0].name : null
}
