/** What is left of a decision that was erased: its id with who took it out and why, and a keyed mark of where it came from. */
import { createHmac } from 'node:crypto'
import { CstpError, decisionNotFound } from '../../../sdk/errors.ts'
import type { KeyedReader } from '../../../sdk/storage/store.ts'

/** Names of the collections, for moving them to another store. */
export const erasureCollections = {
  /** By id. */
  erased: 'erased',
  /** Marks of source keys. */
  source: 'erased_source',
  /** By the id of the redaction: erasures whose traces are still on the disk. */
  unfinished: 'erasure_unfinished',
} as const

/** What stands for a decision. */
export interface Tombstone {
  /** RFC 3339, UTC. */
  at: string
  by: string
  /** On what ground, as it was given. */
  basis: string
  redaction_record_id: string
}

/** Stands for a source key that must not come back: without the key of this service nobody finds out by guessing which it was. */
export type SourceMark = (source_key: string) => string

/** @param secret known to this service alone */
export const sourceMarks =
  (secret: Uint8Array): SourceMark =>
  (source_key) =>
    createHmac('sha256', secret).update(source_key).digest('hex')

export async function tombstoneOf(keyed: Pick<KeyedReader, 'get'>, id: string): Promise<Tombstone | null> {
  const [found] = await keyed.get(erasureCollections.erased, [id])
  return (found?.value as Tombstone | undefined) ?? null
}

/** What a caller is told who asks for a decision that is not there: `data.erased` says when and why, if it was erased. */
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

/** @throws CstpError `invalid_params` if what came from there was erased */
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
