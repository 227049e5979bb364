/** Updates of decisions, and the values before them, stored apart from the record: one keyed record per update, the newest in full. */

import { invalidParams } from '../../../../sdk/errors.ts'
import type { DecisionRecord, Revision } from '../../../../sdk/schema/decision.ts'
import { RecordUpdates } from '../../../../sdk/schema/record.ts'
import { newestKeyed } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'
import { jsonSha256 } from '../../../core/digest.ts'
import { extractBridge } from './bridge.ts'
import { isUnadopted, quality, scopesOfRecord, titleOf } from './decision.ts'

/** Name of the collection, for moving it to another store. */
export const revisionCollection = 'revision'

/** Updates whose earlier values are kept in full; for older ones only their digest is kept. */
const keptInFull = 200
/** Bytes of earlier values in one answer; beyond them, older updates are shown by their digest. */
const maxShownBytes = 8 * 1_048_576

const prefixOf = (id: string): string => `${id} `
const keyOf = (id: string, number: number): string => `${prefixOf(id)}${String(number).padStart(10, '0')}`
const asDigest = (revision: Revision): Revision => ({ ...revision, old_values: null })

/** An update with the values before it, and their SHA-256. */
function revisionOf(
  before: DecisionRecord,
  after: DecisionRecord,
  fields: (keyof DecisionRecord)[],
  by: string,
): Revision {
  const old_values = Object.fromEntries(fields.map((field) => [field, before[field]]))
  const digest = jsonSha256(old_values)
  return { updated_at: after.updated_at, updated_by: by, fields, old_values, digest }
}

/** Stores a revision in the transaction of its update. @param count number of the update within its decision, from 1 */
export async function keepRevision(tx: Transaction, id: string, count: number, revision: Revision): Promise<void> {
  let number = count
  // A file that was put back to an earlier state has an earlier count; stored revisions must not be overwritten.
  while ((await tx.keyed.get(revisionCollection, [keyOf(id, number)])).length > 0) number++
  await tx.keyed.put(revisionCollection, keyOf(id, number), revision)
  const old = keyOf(id, number - keptInFull)
  const [stored] = number > keptInFull ? await tx.keyed.get(revisionCollection, [old]) : []
  if (stored) await tx.keyed.put(revisionCollection, old, asDigest(stored.value as Revision))
}

/** Every update of a decision, oldest first. */
export async function revisionsOf(keyed: Pick<KeyedReader, 'list'>, id: string): Promise<Revision[]> {
  const found: Revision[] = []
  let bytes = 0
  // The oldest are the ones that don't fit.
  for await (const { value } of newestKeyed(keyed, revisionCollection, prefixOf(id))) {
    const revision = value as Revision
    bytes += Buffer.byteLength(JSON.stringify(revision))
    found.push(bytes > maxShownBytes ? asDigest(revision) : revision)
  }
  return found.reverse()
}

// Updates, from which revisions follow.

/** Fields that updateDecision may change. */
const updatableFields = Object.keys(RecordUpdates) as (keyof typeof RecordUpdates)[]
export type Updates = Partial<Pick<DecisionRecord, keyof typeof RecordUpdates>>

/** @param seen the `revision_count` that a change is based on; undefined accepts any. @throws CstpError `invalid_params` if the decision was updated since */
export function requireUnchanged({ revision_count }: DecisionRecord, seen: number | undefined): void {
  if (seen === undefined || seen === revision_count) return
  throw invalidParams({
    path: 'revision_count',
    message: `the decision was updated since: its revision_count is ${revision_count}`,
    expected: `${revision_count}: read the decision again, and decide what to keep of both`,
    received: `${seen}`,
  })
}

/** The fields that a bridge is extracted from. */
const bridgeSources: readonly string[] = ['decision', 'context', 'pattern', 'reasons']

/**
 * Applies an update; the earlier values are in its revision. New text renews the title and a bridge that was extracted by rule;
 * a given bridge stays.
 * @param is_scored false if a confidence that adopts the decision was stated too late to be scored
 */
export function applyUpdate(
  record: DecisionRecord,
  updates: Updates,
  by: string,
  at: string,
  is_scored = true,
): { record: DecisionRecord; applied: string[]; revision: Revision } {
  const applied = updatableFields.filter((field) => updates[field] !== undefined)
  const next: DecisionRecord = { ...record, ...updates, updated_at: at }
  if (updates.tags) next.tags = [...new Set(updates.tags)]
  if (updates.bridge) next.bridge_method = 'given'
  else if (next.bridge_method === 'rule' && applied.some((field) => bridgeSources.includes(field)))
    next.bridge = extractBridge(next)
  // A decision recorded by a hook counts once its confidence is stated, before the outcome is known.
  if (isUnadopted(record) && typeof updates.confidence === 'number') {
    if (is_scored) next.confidence_at_record = updates.confidence
    next.adopted_by = by
    next.adopted_at = at
  }
  next.title = titleOf(next.decision)
  next.quality = quality(next)
  next.breaker_scopes = [...new Set([...record.breaker_scopes, ...scopesOfRecord(next)])]
  next.revision_count++
  return { record: next, applied, revision: revisionOf(record, next, applied, by) }
}
