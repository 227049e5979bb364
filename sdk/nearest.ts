/** The known name that a wrong one was probably meant to be. */

/** Edit distance with a bound: names further than `limit` apart are not near. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

/** The name most like `given`, where one is near enough to be meant. */
export function nearest(given: string, names: readonly string[]): string | null {
  const wanted = given.slice(0, 64).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  const ranked = names.map((name) => ({ name, apart: distance(wanted, name, limit) })).sort((a, b) => a.apart - b.apart)
  return ranked[0] && ranked[0].apart <= limit ? ranked[0].name : null
}
