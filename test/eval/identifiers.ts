/** Questions that the corpus makes by itself: each identifier of it, such as `TypeVarTuple`, asked for in words. */
import type { Document } from './baselines.ts'

const identifier = /\b[A-Za-z]*[a-z][A-Z][A-Za-z]*\b/g
const word = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g
/** In more decisions it is the name of a subject. */
const maxHolding = 3
const minLength = 7

export function identifierQuestions(documents: readonly Document[]): {
  kind: string
  question: string
  expect: string[]
}[] {
  const holding = new Map<string, Set<string>>()
  for (const { source, text } of documents)
    for (const [name] of text.matchAll(identifier)) holding.set(name, (holding.get(name) ?? new Set()).add(source))
  return [...holding]
    .filter(([name, sources]) => name.length >= minLength && sources.size <= maxHolding)
    .map(([name, sources]) => ({
      kind: 'identifier',
      question: (name.match(word) ?? []).join(' ').toLowerCase(),
      expect: [...sources],
    }))
}
