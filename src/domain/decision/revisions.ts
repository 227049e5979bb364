/** Earlier values of updated decisions, apart from the record: one keyed record for each update, the newest in full. */
import { createHash } from 'node:crypto'
import { invalidParams } from '../../../sdk/errors.ts'
import type { DecisionRecord, Revision } from '../../../sdk/schema/decision.ts'
import type { KeyedReader, Transaction } from '../../../sdk/storage/store.ts'
import { stableJson } from '../../core/json.ts'

/** Name of the collection, for moving it to another store. */
export const revisionCollection = 'revision'

/** Updates whose earlier values are kept; of older ones their digest. */
const keptInFull = 200
/** Bytes of earlier values in one answer; beyond them, older updates are shown by their digest. */
const maxShownBytes = 8 * 1_048_576
const page = 50

const prefixOf = (id: string): string => `${id} `
const keyOf = (id: string, number: number): string => `${prefixOf(id)}${String(number).padStart(10, '0')}`
const asDigest = (revision: Revision): Revision => ({ ...revision, old_values: null })

/** An update with the values before it, and their SHA-256. */
export function revisionOf(before: DecisionRecord, fields: (keyof DecisionRecord)[], by: string, at: string): Revision {
  const old_values = Object.fromEntries(fields.map((field) => [field, before[field]]))
  const digest = createHash('sha256').update(stableJson(old_values)).digest('hex')
  return { updated_at: at, updated_by: by, fields, old_values, digest }
}

/** Keeps an update in the transaction of the update. @param count which update of the decision it is, from 1 */
export async function keepRevision(tx: Transaction, id: string, count: number, revision: Revision): Promise<void> {
  let number = count
  // A file that people put back to an earlier state has an earlier count: nothing that is kept is overwritten.
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
  // The newest first: what doesn't fit is the oldest.
  for (let below: string | undefined; ; ) {
    const records = await keyed.list(revisionCollection, {
      prefix: prefixOf(id),
      order: 'desc',
      limit: page,
      ...(below !== undefined && { after: below }),
    })
    for (const { value } of records) {
      const revision = value as Revision
      bytes += JSON.stringify(revision).length
      found.push(bytes > maxShownBytes ? asDigest(revision) : revision)
    }
    if (records.length < page) return found.reverse()
    below = records.at(-1)!.key
  }
}

/** Bytes of a record as JSON. */
const maxRecordBytes = 256 * 1_024

/** The record, if it is not too large to be kept. @throws CstpError `invalid_params` naming the limit */
export function requireSize(record: DecisionRecord): DecisionRecord {
  const bytes = Buffer.byteLength(JSON.stringify(record))
  if (bytes <= maxRecordBytes) return record
  const expected = `at most ${maxRecordBytes} bytes (256 KiB) of JSON for the whole decision`
  throw invalidParams({ path: '', message: `expected ${expected}, received ${bytes}`, expected, received: `${bytes}` })
}

/** Bytes of what other agents may add to a decision, links and reviews that do not count: the rest is left to its recorder. */
const maxForeignBytes = 64 * 1_024

/** The same after an agent added to it. @throws CstpError `invalid_params` too if other agents have added too much */
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
