/** Why a decision was found: the sentence of its texts that contains most words of the question, with those words marked. */
import type { ComponentChildren } from 'preact'
import { texts } from '../../texts.ts'

/** Stop words. */
const everyday = new Set(texts.everyday.split(' '))
const wordsIn = (text: string): string[] => text.toLocaleLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** The words of a question that are worth marking. */
export const wordsOf = (question: string): string[] => [
  ...new Set(wordsIn(question).filter((word) => !everyday.has(word))),
]

/** Minimum letters that the forms of one word share, and maximum letters of their endings. */
const stem = 4
const ending = 3

/** Whether two words are forms of one, such as `caches` and `caching`. */
function isForm(one: string, other: string): boolean {
  if (one === other) return true
  const least = Math.min(one.length, other.length)
  let same = 0
  while (same < least && one[same] === other[same]) same++
  return same >= stem && one.length - same <= ending && other.length - same <= ending
}

const isMarked = (word: string, words: readonly string[]): boolean => words.some((one) => isForm(one, word))

/** A text with the words of the question marked. */
export function Marked({ text, words }: { text: string; words: readonly string[] }): ComponentChildren {
  if (words.length === 0) return text
  return text
    .split(/([\p{L}\p{N}]+)/u)
    .map((part, at) =>
      at % 2 === 1 && isMarked(part.toLocaleLowerCase(), words) ? <mark key={at}>{part}</mark> : part,
    )
}

/** Maximum characters of a snippet. */
const longest = 220

const sentencesIn = (text: string): string[] => text.split(/(?<=[.!?])\s+|\n+/).filter((one) => one.trim() !== '')

/** Cuts a long sentence around its first marked word. */
function cut(sentence: string, words: readonly string[]): string {
  if (sentence.length <= longest) return sentence
  const first = [...sentence.matchAll(/[\p{L}\p{N}]+/gu)].find(([word]) => isMarked(word.toLocaleLowerCase(), words))
  const from = Math.max(0, Math.min((first?.index ?? 0) - 60, sentence.length - longest))
  const start = from === 0 ? 0 : sentence.indexOf(' ', from) + 1
  const end = start + longest >= sentence.length ? sentence.length : sentence.lastIndexOf(' ', start + longest)
  const part = sentence.slice(start, end > start ? end : start + longest)
  return `${start > 0 ? '… ' : ''}${part}${start + part.length < sentence.length ? ' …' : ''}`
}

/** The sentence that contains most of the words, or the first one; null if there is no text. */
export function snippetOf(texts: readonly string[], words: readonly string[]): string | null {
  const sentences = texts.flatMap(sentencesIn)
  const held = sentences.map((one) => {
    const own = wordsIn(one)
    return words.filter((word) => own.some((other) => isForm(word, other))).length
  })
  const best = held.indexOf(Math.max(...held))
  return sentences.length === 0 ? null : cut(sentences[best]!, words)
}
