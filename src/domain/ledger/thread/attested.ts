/**
 * Attested keyed records: each write of one is also an act with the digest of its value. A read compares the record with the newest act
 * about it, so that a value that was changed, added, removed or put back without the service is never used.
 * @see `docs/design/ledger.md` for the collections, and for what this does not detect
 */
import { createHash } from 'node:crypto'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { KeyedReader, KeyedRecord } from '../../../../sdk/storage/keyed.ts'
import type { StoredAct, ThreadReads } from '../../../../sdk/storage/thread.ts'
import { textOf } from '../../../core/canonical.ts'
import { approvalCollections } from '../../policy/approval/requests.ts'
import { deferralCollection } from '../../policy/approval/step-up.ts'
import { policyCollections } from '../../policy/judge/archive.ts'
import { breakerCollection } from '../../policy/judge/breakers.ts'
import { commitCollection } from '../../record/decision/commits.ts'
import { revisionCollection } from '../../record/decision/revisions.ts'
import { erasureCollections } from '../../record/decision/tombstone.ts'
import { driftClosedCollection } from '../../record/history/drift-closed.ts'
import { formerLinkCollection } from '../../record/history/former-links.ts'
import { pinCollection } from '../../record/hook-records.ts'
import { commitmentOf } from './commitment.ts'

/** The collections whose records decide what is allowed, or say what was. */
export const attestedCollections: readonly string[] = [
  ...Object.values(approvalCollections),
  ...Object.values(policyCollections),
  erasureCollections.erased,
  erasureCollections.source,
  breakerCollection,
  commitCollection,
  deferralCollection,
  driftClosedCollection,
  formerLinkCollection,
  pinCollection,
  revisionCollection,
]
const attested: ReadonlySet<string> = new Set(attestedCollections)

export const isAttested = (collection: string): boolean => attested.has(collection)

/** What the acts about a keyed record are found by. */
export const subjectOf = (collection: string, key: string): string => `${collection}/${key}`

/** A written value; `undefined` if the record was deleted. */
export interface Attestation {
  collection: string
  key: string
  value: unknown
  /** Milliseconds since 1970 from which the record may be gone; null: never. */
  expires_ms: number | null
}

const sha256 = (value: unknown): string => createHash('sha256').update(textOf({ value })).digest('hex')
/** Enough to tell which member differs. */
const hintLength = 12

/** Digests of the value, and of each member, so that a difference can be named. */
function digestsOf(value: unknown): { sha256: string; members: Record<string, string> } {
  const stored: unknown = JSON.parse(JSON.stringify(value ?? null))
  const object = stored !== null && typeof stored === 'object' && !Array.isArray(stored) ? stored : {}
  const members = Object.entries(object).map(([name, one]) => [name, sha256(one).slice(0, hintLength)])
  return { sha256: sha256(stored), members: Object.fromEntries(members) }
}

/** The payload of the act of a write, apart from what all acts have. */
export const attestationOf = ({ collection, key, value, expires_ms }: Attestation): Record<string, unknown> => ({
  collection,
  key,
  ...(value === undefined ? { sha256: null } : { ...digestsOf(value), expires_ms }),
})

interface Said {
  collection: string
  key: string
  /** Null if the record was deleted. */
  sha256: string | null
  members?: Record<string, string>
  expires_ms?: number | null
}

/** What an act says of a keyed record; null if it says nothing, or is not what the log has. */
export function saidOf({ payload, salt, commitment }: StoredAct): Said | null {
  if (payload === null || salt === null || commitmentOf(salt, payload) !== commitment) return null
  const said = JSON.parse(payload) as Said
  return said.sha256 === undefined ? null : said
}

/** Names of the members that differ from the digests of an act. */
function differing(said: Said, members: Record<string, string>): string[] {
  const names = new Set([...Object.keys(said.members ?? {}), ...Object.keys(members)])
  return [...names].filter((name) => said.members?.[name] !== members[name])
}

/**
 * How a stored record differs from the newest act about it, as the end of a sentence; null if it does not.
 * @param act undefined if there is none
 */
export function difference(
  { collection, key, value, expires_ms }: KeyedRecord & Keyed,
  act?: StoredAct,
): string | null {
  if (act === undefined) return 'was added without the service: no act of the ledger says so'
  const said = saidOf(act)
  if (said === null) return `is described by the act ${act.record_id}, which was changed`
  if (said.sha256 === null) return `was added without the service: the act ${act.record_id} says that it was deleted`
  const { sha256, members } = digestsOf(value)
  const names = said.expires_ms === expires_ms ? [] : ['expires_ms']
  if (sha256 !== said.sha256) names.unshift(...differing(said, members))
  if (names.length === 0 && sha256 === said.sha256 && said.collection === collection && said.key === key.toWellFormed())
    return null
  const what = names.length === 0 ? 'its value' : names.join(', ')
  return `was changed without the service: ${what} differs from the act ${act.record_id}`
}
interface Keyed {
  collection: string
}

/** Whether the newest act about a record says that it must be there. */
export function mustExist(act: StoredAct | undefined, now_ms: number): boolean {
  const said = act === undefined ? null : saidOf(act)
  return said !== null && said.sha256 !== null && (said.expires_ms === null || said.expires_ms! > now_ms)
}

/** A record as messages name it. */
export const nameOf = (collection: string, key: string): string => `the ${collection.replaceAll('_', ' ')} ${key}`

/** How a record that was changed is put right without a backup, by collection. */
const wayOn: Readonly<Record<string, (key: string) => string>> = {
  [breakerCollection]: () => 'cstp.resetCircuit writes it again',
  [pinCollection]: (key) => `cstp gateway pins accept ${key} puts it aside, and all its tools wait for a person then`,
}

/** Thrown instead of returning a record that is not what the ledger says. Its message is for the caller. */
export class AlteredRecord extends StorageError {
  constructor(collection: string, key: string, what: string) {
    const way = ['cstp doctor lists all such records', 'a backup has what was there before', wayOn[collection]?.(key)]
    super('corrupt', `${nameOf(collection, key)} ${what}. It is not used: ${way.filter(Boolean).join('; ')}`)
  }
}

interface Sources {
  keyed: Pick<KeyedReader, 'get'>
  thread: Pick<ThreadReads, 'newest'>
}

/** The first difference between records and their acts; null if there is none. @param keys all that were asked for */
async function firstDifference(
  { thread }: Pick<Sources, 'thread'>,
  collection: string,
  records: readonly KeyedRecord[],
  keys: readonly string[],
  now_ms: number,
): Promise<AlteredRecord | null> {
  const subjects = keys.map((key) => subjectOf(collection, key))
  const acts = new Map((await thread.newest(subjects)).map((act) => [act.decision_id, act]))
  const found = new Map(records.map((record) => [record.key, record]))
  for (const key of keys) {
    const act = acts.get(subjectOf(collection, key))
    const record = found.get(key)
    if (record !== undefined) {
      const what = difference({ ...record, collection }, act)
      if (what !== null) return new AlteredRecord(collection, key, what)
    } else if (mustExist(act, now_ms))
      return new AlteredRecord(
        collection,
        key,
        `was removed without the service: the act ${act!.record_id} says that it is there`,
      )
  }
  return null
}

/** Another process may write between the read of a record and that of its act. */
const maxReads = 4

/** Reads that compare what they find. @throws AlteredRecord */
export function attestedReads(
  { keyed, thread }: { keyed: KeyedReader; thread: Pick<ThreadReads, 'newest'> },
  now: () => number,
): KeyedReader {
  async function compared(
    collection: string,
    read: () => Promise<KeyedRecord[]>,
    keysOf: (found: readonly KeyedRecord[]) => readonly string[],
  ): Promise<KeyedRecord[]> {
    for (let reads = 1; ; reads++) {
      const found = await read()
      const keys = keysOf(found)
      if (keys.length === 0) return found
      const error = await firstDifference({ thread }, collection, found, keys, now())
      if (error === null) return found
      if (reads === maxReads) throw error
    }
  }
  return {
    get: (collection, keys) =>
      isAttested(collection)
        ? compared(
            collection,
            () => keyed.get(collection, keys),
            () => keys,
          )
        : keyed.get(collection, keys),
    list: (collection, query) =>
      isAttested(collection)
        ? compared(
            collection,
            () => keyed.list(collection, query),
            (found) => found.map(({ key }) => key),
          )
        : keyed.list(collection, query),
  }
}

/** Like {@link attestedReads}, inside a transaction. @param written subjects that the transaction itself has written */
export async function attestedGet(
  { keyed, thread }: Sources,
  collection: string,
  keys: readonly string[],
  { written, now_ms }: { written: ReadonlyMap<string, unknown>; now_ms: number },
): Promise<KeyedRecord[]> {
  const found = await keyed.get(collection, keys)
  const others = isAttested(collection) ? keys.filter((key) => !written.has(subjectOf(collection, key))) : []
  if (others.length === 0) return found
  const error = await firstDifference({ thread }, collection, found, others, now_ms)
  if (error !== null) throw error
  return found
}
