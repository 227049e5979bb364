/** The chain as programs use it: verification, and appends that are refused if the chain is damaged. */
import { CstpError } from '../../../../sdk/errors.ts'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceBatch,
  EvidenceClass,
  EvidenceRecord,
  HashedText,
  WebhookKey,
} from '../../../../sdk/storage/evidence.ts'
import { noHash } from '../../../../sdk/storage/evidence-checks.ts'
import type { LedgerHead } from '../../../../sdk/storage/ledger.ts'
import { grow } from '../engine/tree.ts'
import { type Flaw, type Page, type PieceReader, type Walked, type WalkOptions, walkLog } from '../engine/walk.ts'
import { recordHash, textHash } from './hash.ts'
import type { Verification } from './results.ts'

/** An event before it has a number; its payload is canonical JSON. */
export type NewEvent = Pick<EvidenceRecord, 'ts' | 'source' | 'event_type' | 'evidence_class' | 'payload'>

/** The events as records that follow a head. */
export function follow(head: LedgerHead, events: readonly NewEvent[]): EvidenceBatch {
  let { seq, hash } = head
  const records = events.map(({ ts, source, event_type, evidence_class, payload }): EvidenceRecord => {
    const record = { seq: ++seq, ts, source, event_type, evidence_class, payload, prev_hash: hash }
    hash = recordHash(record)
    return { ...record, hash }
  })
  const hashes = records.map((record) => record.hash)
  return { records, ...grow(head.frontier, head.seq, hashes) }
}

/** Events, or a function that makes them from the records that webhooks have appended under some keys; it may be called more than once. */
export type Events = readonly NewEvent[] | ((known: readonly EvidenceRecord[]) => readonly NewEvent[])

/**
 * Appends events as one batch without checking the chain. Programs append through a {@link Chain}.
 * @param checkHead throws if nothing may follow this head
 */
export async function appendEvents(
  evidence: Pick<Evidence, 'append'>,
  events: Events,
  checkHead: (head: LedgerHead) => void = () => {},
  keys: readonly WebhookKey[] = [],
): Promise<{ first_seq: number; head: LedgerHead }> {
  let first_seq = 0
  const head = await evidence.append((before, known) => {
    checkHead(before)
    first_seq = before.seq + 1
    return follow(before, typeof events === 'function' ? events(known) : events)
  }, keys)
  return { first_seq, head }
}

/** A running walk over the log. */
interface Walking {
  /** Records walked so far. */
  records: number
  /** Null while it is unknown. */
  total: number | null
  started_ms: number
}

/** The state of the log since the latest walk over it. */
interface LatestWalk extends Pick<Verification, 'intact' | 'broken_at_seq' | 'reason' | 'records'> {
  started_ms: number
  finished_ms: number
}

export interface Chain {
  /**
   * Appends events as one batch.
   * @param keys of the records that `events` needs, if it is a function
   * @throws CstpError `internal_error` with `reason` and `broken_at_seq` if the chain is damaged; nothing is appended then
   */
  append(events: Events, keys?: readonly WebhookKey[]): Promise<{ first_seq: number; head: LedgerHead }>
  /** Walks the whole chain, which must contain `expected`, by default the head of the latest export. */
  verify(expected: string | null): Promise<Verification>
  /** What the latest verification in this process found; null before the first. */
  latest(): LatestWalk | null
  /** The running walk of this process; null if there is none. */
  walking(): Walking | null
}

const damaged = ({ seq, reason }: Flaw): CstpError =>
  new CstpError('internal_error', `The evidence chain is damaged and accepts no more events: ${reason}`, {
    kind: 'corrupt',
    broken_at_seq: seq,
    reason,
  })

/**
 * A damaged chain must not grow: later it would be impossible to tell what preceded the damage. The first append of a process therefore
 * waits for a walk over the whole log; later appends check that the log ends at or after the end that this process saw last. Every
 * verification renews the verdict.
 */
export function openChain(
  options: Pick<WalkOptions, 'yieldToEventLoop'> &
    Partial<Pick<WalkOptions, 'walkers'>> & { evidence: Evidence; now(): number },
): Chain {
  const { evidence, now, ...walkOptions } = options
  let latest: (Walked & Pick<LatestWalk, 'started_ms' | 'finished_ms'>) | null = null
  let under_way: Walking | null = null
  let flaw: Flaw | null = null
  /** End of the log when this process last saw it. */
  let seen = { seq: 0, hash: noHash }
  let walking: Promise<unknown> = Promise.resolve()
  let waiting: Promise<Walked> | null = null
  /** Hashes that the next walk looks for. */
  let wanted = new Set<string>()

  /** A walk that begins after this call. Calls during a walk share the next one. */
  function walk(hash: string | null = null): Promise<Walked> {
    if (hash !== null) wanted.add(hash)
    waiting ??= walking.then(async () => {
      waiting = null
      const looked_for = wanted
      wanted = new Set()
      const before = seen
      const started_ms = now()
      under_way = { records: 0, total: null, started_ms }
      const walked = await walkLog({
        ...walkOptions,
        log: evidence,
        reader: evidenceEntries(evidence),
        wanted: looked_for,
        walked: (records, total) => {
          under_way = { records, total, started_ms }
        },
      }).finally(() => {
        under_way = null
      })
      walked.flaw ??= await lossOf(before, walked.records)
      latest = { ...walked, started_ms, finished_ms: now() }
      flaw = walked.flaw
      if (walked.flaw === null && walked.records > seen.seq) seen = { seq: walked.records, hash: walked.hash }
      return walked
    })
    walking = waiting.catch(() => {})
    return waiting
  }

  const loss = ({ seq }: { seq: number }, records: number): Flaw => ({
    seq: null,
    reason:
      records < seq
        ? `the log was cut off: this process has seen ${seq} records, and it ends at ${records} now`
        : `the log was rewritten: this process has seen another record ${seq}`,
  })

  /** The end of the log that this process saw before a walk must still be in the log after it. */
  async function lossOf(before: { seq: number; hash: string }, records: number): Promise<Flaw | null> {
    if (before.seq === 0) return null
    const [hash] = await evidence.hashes(before.seq, 1)
    return hash === before.hash && records >= before.seq ? null : loss(before, records)
  }

  function checkEnd({ seq, hash }: LedgerHead): void {
    if (seq < seen.seq || (seq === seen.seq && hash !== seen.hash)) flaw = loss(seen, seq)
  }

  return {
    async append(events, keys) {
      if (latest === null) await walk()
      const checkHead = (before: LedgerHead) => {
        checkEnd(before)
        if (flaw !== null) throw damaged(flaw)
      }
      if (flaw !== null) throw damaged(flaw)
      try {
        const appended = await appendEvents(evidence, events, checkHead, keys)
        if (appended.head.seq > seen.seq) seen = appended.head
        return appended
      } catch (error) {
        if (!isStorageError(error, 'corrupt')) throw error
        throw damaged({ seq: null, reason: 'the log does not end where its head says' })
      }
    },
    async verify(expected) {
      const expected_hash =
        expected ?? (await evidence.checkpoints()).findLast(({ exported }) => exported)?.head_hash ?? null
      const walked = await walk(expected_hash)
      const present = expected_hash === null || expected_hash === noHash || walked.present.has(expected_hash)
      const missing = 'the expected hash is not in the chain: its end was cut off, or it was rewritten'
      const found = walked.flaw ?? (present ? null : { seq: null, reason: missing })
      return {
        intact: found === null,
        broken_at_seq: found?.seq ?? null,
        head_hash: walked.last_hash,
        expected_hash,
        tail_check: expected_hash !== null,
        reason: found?.reason ?? null,
        records: walked.records,
      }
    },
    latest: () =>
      latest && {
        intact: flaw === null,
        broken_at_seq: flaw?.seq ?? null,
        reason: flaw?.reason ?? null,
        records: latest.records,
        started_ms: latest.started_ms,
        finished_ms: latest.finished_ms,
      },
    walking: () => under_way,
  }
}

// Reads the records of the evidence log: in pages, and for a walk, which checks that each follows the one before it.

type Reader = Pick<Evidence, 'read' | 'hashed' | 'nodes'>

const evidenceClasses: readonly EvidenceClass[] = ['observed', 'inferred', 'attested']

/** Why a record does not follow `prev`; null if it does. */
function flawOf(record: EvidenceRecord, seq: number, prev: string | null): string | null {
  if (record.seq !== seq) return `record ${record.seq} is in the place of record ${seq}`
  if (!evidenceClasses.includes(record.evidence_class)) return `record ${seq} has an invalid evidence class`
  if (prev !== null && record.prev_hash !== prev) return `record ${seq} does not name the hash of the record before it`
  if (recordHash(record) !== record.hash) return `record ${seq} does not match its hash`
  return null
}

/** Reads a page, or as much of it as can be read. */
async function readPage(
  reader: Reader,
  from: number,
  limit: number,
): Promise<{ records: EvidenceRecord[]; flaw: Flaw | null }> {
  try {
    return { records: await reader.read(from, limit), flaw: null }
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    if (limit === 1)
      return { records: [], flaw: { seq: Math.max(1, from), reason: `record ${Math.max(1, from)} can’t be read` } }
  }
  const half = Math.floor(limit / 2)
  const first = await readPage(reader, from, half)
  if (first.flaw) return first
  const second = await readPage(reader, Math.max(1, from) + half, limit - half)
  return { records: [...first.records, ...second.records], flaw: second.flaw }
}

/** What the first record says is the hash before it, if it is right itself. */
const first = (hashes: readonly string[], records: readonly EvidenceRecord[]): string | null =>
  hashes.length === 0 ? null : records[0]!.prev_hash

/** A page of these records; null if any of them is wrong. @param before the hash before them; null if it is not known */
function pageOf(records: readonly HashedText[], before: string | null): Page | null {
  const first_prev = records[0]!.prev_hash
  let last = before ?? first_prev
  for (const { hash, prev_hash, text } of records) {
    if (prev_hash !== last || textHash(text) !== hash) return null
    last = hash
  }
  return { hashes: records.map(({ hash }) => hash), first_prev, flaw: null }
}

/** The records of the log as the entries of a walk. */
export const evidenceEntries = (reader: Reader): PieceReader => ({
  isChained: true,
  nodes: (level, index, limit) => reader.nodes(level, index, limit),
  async page(seq, limit, prev) {
    const hashed = await reader.hashed?.(seq, limit)
    const page = hashed ? pageOf(hashed, prev) : null
    if (page !== null) return page
    // The first page is read from 0 on, so that a record below 1 is detected.
    const { records, flaw } = await readPage(reader, seq === 1 ? 0 : seq, limit)
    const hashes: string[] = []
    for (const record of records) {
      const reason = flawOf(record, seq + hashes.length, hashes.at(-1) ?? prev)
      if (reason !== null) return { hashes, first_prev: first(hashes, records), flaw: { seq: record.seq, reason } }
      hashes.push(record.hash)
    }
    return { hashes, first_prev: first(hashes, records), flaw }
  },
})

const pageSize = 1_000

/** The records up to number `size`, in pages; ends early if one is missing at the end. */
export async function* recordPages(evidence: Pick<Evidence, 'read'>, size: number): AsyncGenerator<EvidenceRecord[]> {
  for (let next = 1; next <= size; ) {
    const page = await evidence.read(next, Math.min(pageSize, size - next + 1))
    const last = page.at(-1)
    if (!last || last.seq < next) return
    yield page.filter(({ seq }) => seq <= size)
    next = last.seq + 1
  }
}
