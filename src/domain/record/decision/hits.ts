/** What a search shows of a decision: extracted from its record once, for as long as the store keeps its text. */
import * as v from 'valibot'
import type { QueryHit } from '../../../../sdk/schema/hit.ts'
import { parseRecord, type RecordText } from '../../../../sdk/storage/decisions.ts'
import { remembered } from '../../../core/remembered.ts'
import { instructionLike, textsOf } from './instructions.ts'

export const Scores = v.object({ semantic: v.number(), keyword: v.number(), combined: v.number() })

export interface Hit {
  text: RecordText
  /** Cosine distance, rounded to 4 decimals; null if it was found only by keyword. */
  distance: number | null
  /** Null in semantic mode. */
  scores: v.InferOutput<typeof Scores> | null
  superseded_by: string | null
}

/** The part of a hit that is the same for every question. */
type Shown = Omit<QueryHit, 'distance' | 'superseded_by' | 'reasons' | 'context'>

/**
 * As JSON, without its last brace. Only this text is kept: an object with a string for each field would take as much again, and the
 * garbage collector would visit each of them.
 */
const kept = remembered((text: RecordText): string => {
  const record = parseRecord(text)
  const { id, title, category, confidence, stakes, status, outcome, date } = record
  const { recorded_by, reviewed_by, actual_result, lessons } = record
  const shown: Shown = {
    id,
    title,
    category,
    confidence,
    stakes,
    status,
    outcome,
    date,
    recorded_by,
    reviewed_by,
    actual_result,
    lessons,
    instruction_like: instructionLike(textsOf(record)),
  }
  return JSON.stringify(shown).slice(0, -1)
})

const shownOf = (text: RecordText): Shown => JSON.parse(`${kept(text)}}`)

export const titleOf = ({ text }: Hit): string => shownOf(text).title

/** A hit as it is returned. */
export const hitOf = ({ text, distance, superseded_by }: Hit): QueryHit => ({
  ...shownOf(text),
  distance,
  superseded_by,
})

/** A hit as JSON. @param added fields to add */
export function hitJson({ text, distance, superseded_by }: Hit, added: { reasons: boolean; context: boolean }): string {
  const successor = superseded_by === null ? null : JSON.stringify(superseded_by)
  const { reasons, context } = added.reasons || added.context ? parseRecord(text) : { reasons: [], context: null }
  const more = [
    added.reasons ? `,"reasons":${JSON.stringify(reasons.map((one) => one.text))}` : '',
    added.context ? `,"context":${JSON.stringify(context)}` : '',
  ].join('')
  return `${kept(text)},"distance":${distance},"superseded_by":${successor}${more}}`
}
