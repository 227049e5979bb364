/** Ids of acts: derived from what the act is about, or generated if that has no id. */
import type { ActKind } from '../../../sdk/storage/thread.ts'
import { dayMs } from '../../core/time.ts'

/** The id of a decision's state. @param revision 1 for the decision as it was recorded */
export const stateId = (decision_id: string, revision: number): string => `${decision_id}@${revision}`

/** The id of a step that an approval takes once. */
export const approvalStepId = (approval: string, step: 'requested' | 'decided'): string => `${approval}/${step}`

/** The id of a use of a grant, of which there are several while it is remembered. @param evaluation the id of the evaluation that used it */
export const useId = (approval: string, evaluation: string): string => `${approval}/consumed/${evaluation}`

/** The id of a record of the evidence log. */
export const evidenceId = (seq: number): string => `evidence/${seq}`

/**
 * Generates an id: the day, the kind, seven digits of the time of day and twelve random ones. Later ids sort after earlier ones, so that
 * indexes grow at their end: each insertion at a random place would be one more page to write.
 * @param at RFC 3339, UTC
 */
export function newActId(
  kind: ActKind | 'evaluation',
  at: string,
  tools: { randomHex(bytes: number): string },
): string {
  const time = (Date.parse(at) % dayMs).toString(16).padStart(7, '0')
  return `${at.slice(0, 10)}-${kind}-${time}${tools.randomHex(6)}`
}

/** The last record of the evidence log that is in the thread: one keyed record, written with the acts. */
export const evidenceCursor = { collection: 'thread', key: 'evidence' } as const
