/** Wilson's interval for a share that was counted. */

const z = 1.959963984540054

/**
 * The 95 % interval of the share `hits / of`; null where nothing was counted.
 * @see Wilson, Probable inference, the law of succession, and statistical inference (1927)
 */
export function wilson(hits: number, of: number): { low: number; high: number } | null {
  if (of === 0) return null
  const share = hits / of
  const middle = share + (z * z) / (2 * of)
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of))
  const scale = 1 + (z * z) / of
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) }
}
