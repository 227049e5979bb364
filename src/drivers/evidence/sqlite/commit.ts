/** Writes to an evidence database: one transaction at a time, each for a group of appends. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceBatch } from '../../../../sdk/storage/evidence.ts'
import type { LedgerHead, StoredCheckpoint } from '../../../../sdk/storage/ledger.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { connectionOf, ledgerWrites } from '../../shared/sqlite/ledger.ts'
import { groupCommit } from '../group.ts'
import { checkEnd } from '../rows.ts'
import { payloadIndex, webhookKeys } from './lookup.ts'

interface Committer {
  append: Evidence['append']
  /** Brings {@link payloadIndex} up to the end of the log. */
  indexPayloads(): Promise<void>
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
  /** Refuses further writes, and resolves when all earlier ones have ended. */
  end(): Promise<void>
}

/** Records written without a pause; calls that don't write can run in between. */
const writtenAtOnce = 1_000
/** How long a write waits for other processes. */
const timeout_ms = 5_000

export function committer(db: Database): Committer {
  const ledger = ledgerWrites(connectionOf(db), '', 'sqlite evidence')
  const last = db.prepare<{ seq: number; hash: string }, []>('select seq, hash from events order by seq desc limit 1')
  const insert = db.prepare(
    'insert into events (seq, ts, source, event_type, evidence_class, payload, prev_hash, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const keys = webhookKeys(db)
  const index = payloadIndex(db)
  let lane: Promise<unknown> = Promise.resolve()
  let closed = false

  /** Runs one piece of work at a time: the connection has only one transaction. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const next = lane.then(work)
    lane = next.catch(() => {})
    return next
  }

  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    alone(async () => {
      await begin(db, performance.now() + timeout_ms)
      try {
        const value = await work()
        db.run('COMMIT')
        return value
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        throw storageErrorOf(error, 'cannot commit the evidence')
      }
    })

  async function write(batches: readonly EvidenceBatch[], head: LedgerHead): Promise<void> {
    let written = 0
    for (const { records } of batches) {
      for (const record of records) {
        if (written > 0 && written % writtenAtOnce === 0) await new Promise(setImmediate)
        const { seq, ts, source, event_type, evidence_class, payload, prev_hash, hash } = record
        insert.run(seq, ts, source, event_type, evidence_class, payload, prev_hash, hash)
        keys.add(record)
        written++
      }
    }
    ledger.grow(
      head,
      batches.flatMap(({ nodes }) => nodes),
    )
  }

  const writing = { head: () => checkEnd(ledger.head(), last.get(), 'sqlite'), find: keys.find, write }
  const group = groupCommit((work) => transaction(() => work(writing)))
  const open = () => {
    if (closed) throw new StorageError('unavailable', 'the evidence is closed')
  }
  return {
    append: group.append,
    async indexPayloads() {
      open()
      for (let more = index.isBehind(); more; ) more = await transaction(async () => index.advance())
    },
    async saveCheckpoint(checkpoint) {
      open()
      await transaction(async () => ledger.addCheckpoint(checkpoint))
    },
    async end() {
      closed = true
      await group.end()
      await lane
    },
  }
}
