/**
 * The thread in `cstp.db`. An act is one row, whose number is its place: rows are never deleted, and writes are serialised. The tree grows
 * over the rows later; an act counts as waiting until the head is past it.
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { growsTree } from '../../../../sdk/storage/evidence-checks.ts'
import {
  type ActEntry,
  type ActKind,
  keptCheckpoints,
  type StoredAct,
  type ThreadReader,
  type ThreadReads,
  type UnplacedAct,
} from '../../../../sdk/storage/thread.ts'
import { ledgerReads, ledgerWrites } from '../../shared/sqlite/ledger.ts'
import type { Committer } from './commit.ts'
import type { Statements } from './connect.ts'

const columns = 'record_id, kind, decision_id, at, payload, salt, commitment'
type ActRow = Omit<StoredAct, 'kind'> & { kind: string }
const actOf = ({ kind, ...row }: ActRow): StoredAct => ({ ...row, kind: kind as ActKind })

interface ThreadTools {
  reading: Statements
  writing: Statements
  commits: Pick<Committer, 'run'>
}

const prefix = 'act_'
const name = 'sqlite thread'

/** Also for reading inside a transaction. */
export function newestReader({ prepare }: Statements): (decision_ids: readonly string[]) => StoredAct[] {
  const newest = prepare<ActRow, [string]>(
    `select case when a.seq <= h.seq then a.seq end as seq, ${columns}
     from acts a, act_head h where decision_id = ? order by a.seq desc limit 1`,
  )
  return (decision_ids) => decision_ids.flatMap((id) => newest.get(id) ?? []).map(actOf)
}

/** The read methods. */
export function threadReads(statements: Statements): ThreadReads {
  const { prepare } = statements
  const newest = newestReader(statements)
  const placed = `case when a.seq <= h.seq then a.seq end as seq, ${columns}`
  const hashes = prepare<{ commitment: string }, [number, number]>(
    'select commitment from acts a, act_head h where a.seq >= ? and a.seq <= h.seq order by a.seq limit ?',
  )
  const read = prepare<ActRow, [number, number]>(
    `select a.seq, ${columns} from acts a, act_head h where a.seq >= ? and a.seq <= h.seq order by a.seq limit ?`,
  )
  const waiting = prepare<ActRow, [number]>(
    `select null as seq, ${columns} from acts a, act_head h where a.seq > h.seq order by a.seq limit ?`,
  )
  const get = prepare<ActRow, [string]>(`select ${placed} from acts a, act_head h where record_id = ?`)
  const ofDecision = prepare<Omit<ActEntry, 'kind'> & { kind: string }, [string, number]>(
    `select record_id, kind, at, case when a.seq <= h.seq then a.seq end as seq, coalesce(length(cast(payload as blob)), 0) as bytes
     from acts a, act_head h where decision_id = ? order by a.seq limit ?`,
  )
  return {
    ...ledgerReads(statements, prefix, name),
    newest: async (decision_ids) => newest(decision_ids),
    hashes: async (seq, limit) => hashes.all(seq, limit).map(({ commitment }) => commitment),
    async read(query) {
      if ('record_ids' in query) return query.record_ids.flatMap((record_id) => get.get(record_id) ?? []).map(actOf)
      const { from, limit } = query
      return (from === null ? waiting.all(limit) : read.all(from, limit)).map(actOf)
    },
    ofDecision: async (decision_id, limit) =>
      ofDecision.all(decision_id, limit).map(({ kind, ...row }) => ({ ...row, kind: kind as ActKind })),
  }
}

export function threadReader({ reading, writing, commits }: ThreadTools): ThreadReader {
  const waits = reading.prepare<{ waits: number }, []>(
    'select coalesce((select max(seq) from acts), 0) > (select seq from act_head) as waits',
  )

  // Statements inside a write transaction.
  const ledger = ledgerWrites(writing, prefix, name)
  const waiting = writing.prepare<{ seq: number; commitment: string }, [number, number]>(
    'select seq, commitment from acts where seq > ? order by seq limit ?',
  )
  const dropCovered = writing.prepare<unknown, [number, number, number]>(
    `delete from act_checkpoints where exported = ? and number <=
       (select number from act_checkpoints where exported = ? order by number desc limit 1 offset ?)`,
  )

  return {
    ...threadReads(reading),
    async sequence(grow, limit) {
      if (waits.get()!.waits === 0) return 0
      return commits.run(async () => {
        const before = ledger.head()
        const acts = waiting.all(before.seq, limit)
        const last = acts.at(-1)
        if (last === undefined) return 0
        if (last.seq !== before.seq + acts.length)
          throw new StorageError('corrupt', `sqlite thread: an act between ${before.seq} and ${last.seq} is missing`)
        const grown = grow(
          before,
          acts.map(({ commitment }) => commitment),
        )
        growsTree(before.seq, last.seq, grown)
        ledger.grow({ seq: last.seq, hash: last.commitment, frontier: grown.frontier }, grown.nodes)
        return acts.length
      })
    },
    async saveCheckpoint(checkpoint) {
      const exported = Number(checkpoint.exported)
      await commits.run(async () => {
        ledger.addCheckpoint(checkpoint)
        dropCovered.run(exported, exported, keptCheckpoints)
      })
    },
  }
}

/** What writes acts inside a transaction. */
export function threadWriter({ prepare }: Statements) {
  const insert = prepare<unknown, (string | null)[]>(`insert into acts (${columns}) values (?, ?, ?, ?, ?, ?, ?)`)
  const forget = prepare<unknown, [string]>('update acts set payload = null, salt = null where record_id = ?')
  return {
    append(acts: readonly UnplacedAct[]): void {
      for (const { record_id, kind, decision_id, at, payload, salt, commitment } of acts)
        insert.run(record_id, kind, decision_id, at, payload, salt, commitment)
    },
    erase(record_ids: readonly string[]): void {
      for (const record_id of record_ids) forget.run(record_id)
    },
  }
}
