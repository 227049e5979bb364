/** What remains of an erased decision: its id with who erased it and why, and a keyed hash of its source key. */
import { createHmac } from 'node:crypto'
import { CstpError, decisionNotFound } from '../../../../sdk/errors.ts'
import type { KeyedReader } from '../../../../sdk/storage/store.ts'

/** Names of the collections, for moving them to another store. */
export const erasureCollections = {
  /** By id. */
  erased: 'erased',
  /** Marks of source keys. */
  source: 'erased_source',
  /** Erasures with traces that are still on disk, by the id of their redaction. */
  unfinished: 'erasure_unfinished',
} as const

/** Takes the place of an erased decision. */
export interface Tombstone {
  /** RFC 3339, UTC. */
  at: string
  by: string
  /** The ground of the erasure, as given. */
  basis: string
  redaction_record_id: string
}

/** Keyed hash of a source key that must not be recorded again: without this service's secret the source key can't be found by guessing. */
export type SourceMark = (source_key: string) => string

/** @param secret known only to this service */
export const sourceMarks =
  (secret: Uint8Array): SourceMark =>
  (source_key) =>
    createHmac('sha256', secret).update(source_key).digest('hex')

export async function tombstoneOf(keyed: Pick<KeyedReader, 'get'>, id: string): Promise<Tombstone | null> {
  const [found] = await keyed.get(erasureCollections.erased, [id])
  return (found?.value as Tombstone | undefined) ?? null
}

/** The error for a decision that does not exist; if it was erased, `data.erased` says when and on what ground. */
export async function missing(keyed: Pick<KeyedReader, 'get'>, id: string, given: string): Promise<CstpError> {
  const found = await tombstoneOf(keyed, id)
  if (found === null) return decisionNotFound(given)
  const { at, basis, redaction_record_id } = found
  const erased = { at, basis, redaction_record_id }
  return new CstpError('decision_not_found', `Decision was erased on ${at.slice(0, 10)}: ${given}`, {
    id: given,
    erased,
  })
}

/** @throws CstpError `invalid_params` if the decision with this source key was erased */
export async function requireUnerased(
  keyed: Pick<KeyedReader, 'get'>,
  sourceMark: SourceMark,
  source_key: string,
): Promise<void> {
  if ((await keyed.get(erasureCollections.source, [sourceMark(source_key)])).length === 0) return
  const message = 'names what was erased: it is not recorded again'
  throw new CstpError('invalid_params', `Invalid params: source_key: ${message}`, {
    issues: [{ path: 'source_key', message, expected: 'a source that was not erased', received: source_key }],
    erased: true,
  })
}
