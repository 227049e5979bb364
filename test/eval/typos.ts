/** One random typo in a question: two letters swapped, one dropped, doubled or replaced, in a word of five letters or more. */
import { seeded } from './figures.ts'

const letters = 'abcdefghijklmnopqrstuvwxyz'

const edits: ((word: string, at: number, random: () => number) => string)[] = [
  (word, at) => word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2),
  (word, at) => word.slice(0, at) + word.slice(at + 1),
  (word, at) => word.slice(0, at) + word[at] + word.slice(at),
  (word, at, random) => word.slice(0, at) + letters[Math.floor(random() * letters.length)] + word.slice(at + 1),
]

/** The question with one typo; the same one in every run. */
export function withTypo(question: string, seed: number): string {
  const random = seeded(seed)
  const words = [...question.matchAll(/[A-Za-z]{5,}/g)]
  for (let tries = 0; tries < 20 && words.length > 0; tries++) {
    const { 0: word, index } = words[Math.floor(random() * words.length)]!
    const edit = edits[Math.floor(random() * edits.length)]!
    // The first letter is rarely wrong, and the last has no neighbour to swap with.
    const changed = edit(word, 1 + Math.floor(random() * (word.length - 2)), random)
    if (changed !== word) return question.slice(0, index) + changed + question.slice(index + word.length)
  }
  return question
}
