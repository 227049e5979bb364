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
const inList = /([\w.]+)\s*:\s*\[(?:[^\]{}]*,)?\s*["']?([\w./-]*)$/
const inValue = /([\w.]+)\s*:\s+["']?((?:[<>=!]+|not_in|in|contains)\s+)?([\w./<>=!-]*)$/
const inKey = /(?:^\s*(?:-\s+)?|[{,]\s*)([\w.]*)$/
const condition = 'condition_'

/** The entries that fit what is typed: those that begin with it, then those that contain it. */
function fitting(entries: Completions[string], typed: string): Completions[string] {
  const places = entries.map((one) => [one, one.text.toLowerCase().indexOf(typed.toLowerCase())] as const)
  return places
    .filter(([{ text }, place]) => place >= 0 && text !== typed)
    .sort(([, a], [, b]) => Math.min(a, 1) - Math.min(b, 1))
    .slice(0, mostOffers)
    .map(([one]) => one)
}

/** @param all also without a letter of a key */
export function offersAt(draft: string, at: number, known: Completions, all = false): Offer[] {
  const before = draft.slice(0, at)
  const line = before.slice(before.lastIndexOf('\n') + 1)
  const value = inList.exec(line) ?? inValue.exec(line)
  const typed = value?.at(-1) ?? inKey.exec(line)?.[1]
  if (typed === undefined || (!value && typed === '' && !all)) return []
  // The entry of a list that the place is in says whether it is a condition.
  const isCondition = /\btype:/.test(before.slice(before.search(/^\s*-\s(?![\s\S]*^\s*-\s)/m)))
  const key = value?.[1] ?? (isCondition ? 'conditions' : '')
  const isFlat = key.startsWith(condition)
  // The field that a value is compared with is named before it.
  const of = isFlat
    ? key.slice(condition.length)
    : key === 'value'
      ? [...before.matchAll(/\bfield:\s*["']?([\w.]+)/g)].at(-1)?.[1]
      : key
  const own = fitting(known[of ?? key] ?? [], typed)
  const hasOperator = value?.length === 4 && value[2] !== undefined
  const operators = isFlat && !hasOperator ? fitting(known.operator ?? [], typed) : []
  const from = at - typed.length
  return [
    ...own.map(({ text, about }) => ({ text, about, from, insert: value ? text : `${text}: ` })),
    // A value that begins with an operator is one text.
    ...operators.map(({ text, about }) => ({ text, about, from, insert: `"${text} "` })),
  ].slice(0, mostOffers)
}
