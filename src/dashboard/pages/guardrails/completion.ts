/** What may be typed next at a place in a draft of rules, from the text before it. */
import type { TryGuardrailsResult } from '../../../../sdk/client.ts'

/** By the key before the place; under the empty name the keys of a rule, under `conditions` those of a condition. */
export type Completions = NonNullable<TryGuardrailsResult['completions']>

export interface Offer {
  text: string
  about: string | null
  /** Replaces the text from this place on. */
  from: number
  insert: string
}

const mostOffers = 8
const inKey = /(?:^\s*(?:-\s+)?|[{,]\s*)([\w.]*)$/
const condition = 'condition_'
const operatorWords = new Set(['<', '<=', '>', '>=', '=', '==', '!=', 'in', 'not_in', 'contains'])

/** The entries that fit what is typed: those that begin with it, then those that contain it. */
function fitting(entries: Completions[string], typed: string): Completions[string] {
  const places = entries.map((one) => [one, one.text.toLowerCase().indexOf(typed.toLowerCase())] as const)
  return places
    .filter(([{ text }, place]) => place >= 0 && text !== typed)
    .sort(([, a], [, b]) => Math.min(a, 1) - Math.min(b, 1))
    .slice(0, mostOffers)
    .map(([one]) => one)
}

/** The value that a line ends in: its key, the operator before it, and what is typed of it; null if the line ends in no value. */
function valueIn(line: string): { key: string; operator: boolean; typed: string } | null {
  const colon = line.lastIndexOf(':')
  const key =
    line
      .slice(0, Math.max(0, colon))
      .trimEnd()
      .split(/[^\w.]/)
      .at(-1) ?? ''
  const rest = line.slice(colon + 1)
  const isList = rest.trimStart().startsWith('[')
  const last = (isList ? rest.split(/[[,]/).at(-1)! : rest).trimStart().replace(/^["']/, '').trimStart()
  const words = last.split(' ')
  const operator = words.length === 2 && operatorWords.has(words[0]!)
  const typed = operator ? words[1]! : last
  return key === '' || rest === '' || /[^\w./<>=!-]/.test(typed) ? null : { key, operator, typed }
}

/** @param all also without a letter of a key */
export function offersAt(draft: string, at: number, known: Completions, all = false): Offer[] {
  const before = draft.slice(0, at)
  const line = before.slice(before.lastIndexOf('\n') + 1)
  const value = valueIn(line)
  const typed = value?.typed ?? inKey.exec(line)?.[1]
  if (typed === undefined || (!value && typed === '' && !all)) return []
  // The entry of a list that the place is in says whether it is a condition.
  const lines = before.split('\n')
  const entry = lines.slice(lines.findLastIndex((one) => one.trimStart().startsWith('- ')))
  const isCondition = entry.some((one) => one.includes('type:'))
  const key = value?.key ?? (isCondition ? 'conditions' : '')
  const isFlat = key.startsWith(condition)
  // The field that a value is compared with is named before it.
  const of = isFlat
    ? key.slice(condition.length)
    : key === 'value'
      ? [...before.matchAll(/\bfield:\s*["']?([\w.]+)/g)].at(-1)?.[1]
      : key
  const own = fitting(known[of ?? key] ?? [], typed)
  const operators = isFlat && !value?.operator ? fitting(known.operator ?? [], typed) : []
  const from = at - typed.length
  return [
    ...own.map(({ text, about }) => ({ text, about, from, insert: value ? text : `${text}: ` })),
    // A value that begins with an operator is one text.
    ...operators.map(({ text, about }) => ({ text, about, from, insert: `"${text} "` })),
  ].slice(0, mostOffers)
}
