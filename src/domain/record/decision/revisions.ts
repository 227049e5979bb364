/** Earlier values of updated decisions, stored apart from the record: one keyed record per update, the newest in full. */
import { createHash } from 'node:crypto'
import { invalidParams } from '../../../../sdk/errors.ts'
import type { DecisionRecord, Revision } from '../../../../sdk/schema/decision.ts'
import { newestKeyed } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'
import { recordText, stableJson } from '../../../core/canonical.ts'

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
export function revisionOf(
  before: DecisionRecord,
  after: DecisionRecord,
  fields: (keyof DecisionRecord)[],
  by: string,
): Revision {
  const old_values = Object.fromEntries(fields.map((field) => [field, before[field]]))
  const digest = createHash('sha256').update(stableJson(old_values)).digest('hex')
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

/** Largest record, in bytes of JSON. */
const maxRecordBytes = 256 * 1_024

/** The record, if it is not too large to be stored. @throws CstpError `invalid_params` naming the limit */
export function requireSize(record: DecisionRecord): DecisionRecord {
  const bytes = Buffer.byteLength(recordText(record))
  if (bytes <= maxRecordBytes) return record
  const expected = `at most ${maxRecordBytes} bytes (256 KiB) of JSON for the whole decision`
  throw invalidParams({ path: '', message: `expected ${expected}, received ${bytes}`, expected, received: `${bytes}` })
}

/** Most bytes of links and non-counting reviews that other agents may add to a decision; the rest is left to its recorder. */
const maxForeignBytes = 64 * 1_024

/** Like {@link requireSize}, after this agent added to the record. @throws CstpError `invalid_params` also if other agents have added too much */
export function requireRoom(record: DecisionRecord, agent: string): DecisionRecord {
  const { recorded_by, links, review_history } = record
  if (agent !== recorded_by) {
    const foreign = [
      ...links.filter(({ created_by }) => created_by !== recorded_by),
      ...review_history.filter(({ reviewed_by, counts }) => reviewed_by !== recorded_by && !counts),
    ]
    if (Buffer.byteLength(JSON.stringify(foreign)) > maxForeignBytes) {
      const expected = `at most ${maxForeignBytes} bytes (64 KiB) of links and further reviews by others than its recorder`
      throw invalidParams({ path: '', message: `expected ${expected}`, expected, received: 'more' })
    }
  }
  return requireSize(record)
}
