/** The exact interval of a counted share, and of the gap between result and stated confidence. */

/** Coefficients of the approximation of the logarithm of the gamma function. @see Lanczos, SIAM Journal on Numerical Analysis B 1 (1964) */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** Logarithm of the gamma function, for numbers of at least 0.5. */
function logGamma(of: number): number {
  const x = of - 1
  const t = x + 7.5
  const sum = lanczos.reduce((total, coefficient, at) => (at === 0 ? coefficient : total + coefficient / (x + at)), 0)
  return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum)
}

const tiny = 1e-300
const apart = (value: number): number => (Math.abs(value) < tiny ? tiny : value)

/** The continued fraction of the incomplete beta function. @see DLMF 8.17.22, evaluated by Lentz's method */
function fraction(x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1))
  let product = d
  for (let m = 1; m < 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / apart(1 + even * d)
    c = apart(1 + even / c)
    product *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / apart(1 + odd * d)
    c = apart(1 + odd / c)
    product *= d * c
    if (Math.abs(d * c - 1) < 1e-11) break
  }
  return product
}

/** The beta distribution of `a` and `b`, and its density, at points of (0, 1). */
function beta(a: number, b: number) {
  const scale = logGamma(a + b) - logGamma(a) - logGamma(b)
  const density = (x: number): number => Math.exp(scale + (a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x))
  const below = (x: number): number => {
    const front = density(x) * x * (1 - x)
    return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b
  }
  return { density, below }
}

/** The point below which a beta distribution has this share, by Newton's method inside a bracket that each step narrows. */
function betaQuantile(share: number, a: number, b: number): number {
  const { density, below } = beta(a, b)
  let [low, high] = [0, 1]
  const mean = a / (a + b)
  const spread = Math.sqrt((mean * (1 - mean)) / (a + b + 1))
  // Starts slightly beyond the quantile, from where Newton's method converges from one side.
  const start = mean + Math.sign(share - 0.5) * spread * Math.sqrt(-2 * Math.log(2 * Math.min(share, 1 - share)))
  let x = start > 0 && start < 1 ? start : mean
  for (let step = 0; step < 100; step++) {
    const excess = below(x) - share
    if (excess > 0) high = x
    else low = x
    const next = x - excess / density(x)
    const inside = next > low && next < high ? next : (low + high) / 2
    // Each step squares the error: the next step would be far below the four decimals shown.
    if (Math.abs(inside - x) < 1e-7) return inside
    x = inside
  }
  return x
}

export interface Interval {
  low: number
  high: number
}

/**
 * The interval that contains the true mean of `of` results with a confidence of at least `1 − error`, whatever that mean is and however
 * it differs between decisions: of all sums with the same mean, the binomial is the widest. A partial result counts as half a success.
 * @param hits sum of the results, each from 0 to 1
 * @param error share of intervals that may miss the mean, half of it on either side
 * @see Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934)
 * @see Hoeffding, "On the distribution of the number of successes in independent trials", Annals of Mathematical Statistics 27 (1956)
 */
export function exactInterval(hits: number, of: number, error: number): Interval {
  const misses = of - hits
  return {
    low: hits < 0.25 ? 0 : betaQuantile(error / 2, hits, misses + 1),
    high: misses < 0.25 ? 1 : betaQuantile(1 - error / 2, hits + 1, misses),
  }
}
