/** What a search shows of a decision. */
import * as v from 'valibot'
import type { QueryHit } from '../../../../sdk/schema/hit.ts'
import { parseRecord, type RecordText } from '../../../../sdk/storage/decisions.ts'
import { settledBy } from '../../../../sdk/storage/fields.ts'
import { instructionLike, textsOf } from './bridge.ts'

export const Scores = v.object({ semantic: v.number(), keyword: v.number(), combined: v.number() })

export interface Hit {
  text: RecordText
  /** Cosine distance, rounded to 4 decimals; null if it was found only by keyword. */
  distance: number | null
  /** Null in semantic mode. */
  scores: v.InferOutput<typeof Scores> | null
  superseded_by: string | null
}

/** A hit as it is returned. */
export function hitOf({ text, distance, superseded_by }: Hit): QueryHit {
  const record = parseRecord(text)
  const { id, title, category, confidence, stakes, status, outcome, date } = record
  const { recorded_by, reviewed_by, actual_result, lessons } = record
  return {
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
    settled_by: settledBy(record),
    actual_result,
    lessons,
    instruction_like: instructionLike(textsOf(record)),
    distance,
    superseded_by,
  }
}
