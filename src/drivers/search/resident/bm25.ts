/** BM25 of the search port: its constants, and the effect of a term's frequency and a text's length. */

const k1 = 1.2
const b = 0.75

/** The most that a term can add to a score, idf·(k1 + 1), given how many decisions contain it. */
export function weight(decisions: number, holding: number): number {
  return Math.log(1 + (decisions - holding + 0.5) / (holding + 0.5)) * (k1 + 1)
}

export interface Saturation {
  /** Shares of {@link weight} for short texts; 0 if not computed yet. A look-up costs a fifth of the division. */
  table: Float64Array
  /** Parameters of the share `frequency / (frequency + base + slope·length)`. */
  base: number
  slope: number
}

/** Shares for frequencies and lengths below these are looked up, at `frequency << bits | length`. */
export const tabled = { frequency: 8, length: 2_048, bits: 11 } as const

/** The parameters for texts with the average length `total_length / decisions`. */
export function saturation(decisions: number, total_length: number): Saturation {
  const table = new Float64Array(tabled.frequency * tabled.length)
  return { table, base: k1 * (1 - b), slope: total_length === 0 ? 0 : (k1 * b * decisions) / total_length }
}

/** The share of its weight that a term adds if it occurs `frequency` times in a text of this length. */
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
