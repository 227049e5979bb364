/** BM25 of the search port: its constants, and how a term's frequency and a text's length weigh. */

const k1 = 1.2
const b = 0.75

/** What the rarest occurrence of a term could add, by the number of decisions that hold it: idf·(k1 + 1). */
export function weight(decisions: number, holding: number): number {
  return Math.log(1 + (decisions - holding + 0.5) / (holding + 0.5)) * (k1 + 1)
}

export interface Saturation {
  /** Shares of {@link weight}, 0 where not computed yet: those of short texts are looked up, as divisions cost five times more. */
  table: Float64Array
  /** These bend the share `frequency / (frequency + base + slope·length)`. */
  base: number
  slope: number
}

/** Shares of frequencies and lengths below these are looked up, at `frequency << bits | length`. */
export const tabled = { frequency: 8, length: 2_048, bits: 11 } as const

/** The share for texts whose average length is `total_length / decisions`. */
export function saturation(decisions: number, total_length: number): Saturation {
  const table = new Float64Array(tabled.frequency * tabled.length)
  return { table, base: k1 * (1 - b), slope: total_length === 0 ? 0 : (k1 * b * decisions) / total_length }
}

/** What share of its weight a term adds that stands `frequency` times in a text of this length. */
export function share(by: Saturation, frequency: number, length: number): number {
  if (frequency >= tabled.frequency || length >= tabled.length)
    return frequency / (frequency + by.base + by.slope * length)
  const at = (frequency << tabled.bits) + length
  const known = by.table[at]!
  if (known !== 0) return known
  const made = frequency / (frequency + by.base + by.slope * length)
  by.table[at] = made
  return made
}
