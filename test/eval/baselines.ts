/** What a reader would use instead: grep for the question's words, and plain BM25. */

export interface Document {
  source: string
  text: string
}

export type Ranker = (question: string) => string[]

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const ranked = (scored: readonly { source: string; score: number }[], limit: number): string[] =>
  scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ source }) => source)

/** As `grep -c` would: by how many of the question's words of three letters or more occur anywhere in the text. */
export function grep(documents: readonly Document[], limit = 10): Ranker {
  const texts = documents.map(({ source, text }) => ({ source, text: text.toLowerCase() }))
  return (question) => {
    const words = [...new Set(wordsOf(question))].filter((word) => word.length >= 3)
    return ranked(
      texts.map(({ source, text }) => ({ source, score: words.filter((word) => text.includes(word)).length })),
      limit,
    )
  }
}

const k1 = 1.2
const b = 0.75

/** BM25 over lower-case words, without stems. @see Robertson and Zaragoza, The Probabilistic Relevance Framework (2009) */
export function bm25(documents: readonly Document[], limit = 10): Ranker {
  const counted = documents.map(({ source, text }) => {
    const counts = new Map<string, number>()
    const words = wordsOf(text)
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
    return { source, counts, length: words.length }
  })
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(counted.length, 1)
  const documentsWith = new Map<string, number>()
  for (const { counts } of counted)
    for (const word of counts.keys()) documentsWith.set(word, (documentsWith.get(word) ?? 0) + 1)
  return (question) => {
    const words = [...new Set(wordsOf(question))]
    return ranked(
      counted.map(({ source, counts, length }) => {
        let score = 0
        for (const word of words) {
          const frequency = counts.get(word)
          if (frequency === undefined) continue
          const n = documentsWith.get(word)!
          const weight = Math.log(1 + (counted.length - n + 0.5) / (n + 0.5))
          score += (weight * frequency * (k1 + 1)) / (frequency + k1 * (1 - b + (b * length) / average))
        }
        return { source, score }
      }),
      limit,
    )
  }
}
