/** The exact score of a text in a segment: the formula of the resident index over the same counts. */
import { saturation, weight } from '../resident/bm25.ts'
import type { Corpus } from '../resident/keywords.ts'
import type { Text, Weighing } from './reader.ts'

/** Frequency of a term in a text. Equal terms are adjacent, and terms are separated by single spaces. */
export function frequencyIn(padded: string, term: string): number {
  const wanted = `${term} `
  let at = padded.indexOf(` ${wanted}`) + 1
  let frequency = 0
  if (at === 0) return 0
  while (padded.startsWith(wanted, at)) {
    frequency++
    at += wanted.length
  }
  return frequency
}

export function weighingOf(terms: readonly string[], { decisions, length, holding }: Corpus): Weighing {
  const { base, slope } = saturation(decisions, length)
  return { terms, weights: holding.map((held) => weight(decisions, held)), base, slope }
}

export const scorer =
  ({ terms, weights, base, slope }: Weighing) =>
  (text: Text): number => {
    const padded = ` ${text.terms} `
    let score = 0
    terms.forEach((term, at) => {
      const frequency = frequencyIn(padded, term)
      if (frequency > 0) score += weights[at]! * (frequency / (frequency + base + slope * text.length))
    })
    return score
  }
