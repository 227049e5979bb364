/**
 * The ledger of acts in PostgreSQL. Transactions append acts; whichever server locks the head's row gives committed acts their places. So
 * there is one order, and no caller waits.
 */

import { and, asc, desc, eq, gte, inArray, lte, sql } from 'drizzle-orm'
import { growsTree } from '../../../../sdk/storage/evidence-checks.ts'
import { keptCheckpoints, type StoredAct, type ThreadReader, type UnplacedAct } from '../../../../sdk/storage/thread.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { type Database, openDatabase } from '../../shared/postgres/database.ts'
import { addCheckpoint, growLedger, ledgerReads, lockHead } from '../../shared/postgres/ledger.ts'
import { act_checkpoints, act_places, acts, acts_waiting } from './schema.ts'
import { takeWaiting, textArray } from './statements.ts'
import { type Access, keyOf } from './transaction.ts'

const { num, ...columns } = acts
const placed = {
  seq: act_places.seq,
  record_id: columns.record_id,
  kind: columns.kind,
  decision_id: columns.decision_id,
}
const actColumns = {
  ...placed,
  at: columns.at,
  payload: columns.payload,
  salt: columns.salt,
  commitment: columns.commitment,
}
const name = 'postgres thread'
const prefix = 'act_'

/** Numbers ascend in the order of commits, since the writers of acts share a lock. */
async function newestOf(db: Database, decision_ids: readonly string[]): Promise<StoredAct[]> {
  if (decision_ids.length === 0) return []
  const rows = await db
    .selectDistinctOn([acts.decision_id], actColumns)
    .from(acts)
    .leftJoin(act_places, eq(act_places.num, num))
    .where(sql`${acts.decision_id} = any(${textArray(decision_ids)})`)
    .orderBy(acts.decision_id, desc(num))
  const found = new Map(rows.map((row) => [row.decision_id, row as StoredAct]))
  return decision_ids.flatMap((id) => found.get(id) ?? [])
}

export function threadReader({ read, begin }: Pick<Client, 'read' | 'begin'>): ThreadReader {
  const db = openDatabase(read)
  return {
    ...ledgerReads({ read }, prefix, name),
    async hashes(seq, limit) {
      const rows = await db
        .select({ commitment: acts.commitment })
        .from(act_places)
        .innerJoin(acts, eq(acts.num, act_places.num))
        .where(gte(act_places.seq, seq))
        .orderBy(asc(act_places.seq))
        .limit(limit)
      return rows.map(({ commitment }) => commitment)
    },
    async read(query) {
      if ('record_ids' in query) {
        const rows = await db
          .select(actColumns)
          .from(acts)
          .leftJoin(act_places, eq(act_places.num, num))
          .where(sql`${acts.record_id} = any(${textArray(query.record_ids)})`)
        const found = new Map(rows.map((row) => [row.record_id, row as StoredAct]))
        return query.record_ids.flatMap((id) => found.get(id) ?? [])
      }
      const { from, limit } = query
      const rows =
        from === null
          ? await db
              .select(actColumns)
              .from(acts_waiting)
              .innerJoin(acts, eq(num, acts_waiting.num))
              .leftJoin(act_places, eq(act_places.num, num))
              .orderBy(asc(num))
              .limit(limit)
          : await db
              .select(actColumns)
              .from(act_places)
              .innerJoin(acts, eq(num, act_places.num))
              .where(gte(act_places.seq, from))
              .orderBy(asc(act_places.seq))
              .limit(limit)
      return rows as StoredAct[]
    },
    async ofDecision(decision_id, limit) {
      const { record_id, kind, at, payload } = acts
      const bytes = sql<number>`coalesce(octet_length(${payload}), 0)`
      return db
        .select({ seq: act_places.seq, record_id, kind, at, bytes })
        .from(acts)
        .leftJoin(act_places, eq(act_places.num, num))
        .where(eq(acts.decision_id, decision_id))
        .orderBy(sql`${act_places.seq} nulls last`, asc(num))
        .limit(limit) as ReturnType<ThreadReader['ofDecision']>
    },
    newest: (decision_ids) => newestOf(db, decision_ids),
    async sequence(grow, limit) {
      const waiting = await db.select({ num: acts_waiting.num }).from(acts_waiting).limit(1)
      if (waiting.length === 0) return 0
      return begin(async (query) => {
        const own = openDatabase(query)
        const head = await lockHead(query, prefix, name)
        // Acts of open transactions are not visible yet: they get later places.
        const taken = (await own.execute(takeWaiting(limit))) as unknown as { num: string; commitment: string }[]
        const last = taken.at(-1)
        if (last === undefined) return 0
        const commitments = taken.map(({ commitment }) => commitment)
        const grown = grow(head, commitments)
        const end = head.seq + taken.length
        growsTree(head.seq, end, grown)
        await own.insert(act_places).values(taken.map((act, at) => ({ seq: head.seq + 1 + at, num: Number(act.num) })))
        await growLedger(query, prefix, { seq: end, hash: last.commitment, frontier: grown.frontier }, grown.nodes)
        return taken.length
      })
    },
    saveCheckpoint: (checkpoint) =>
      begin(async (query) => {
        const own = openDatabase(query)
        await addCheckpoint(query, prefix, checkpoint)
        const sameKind = eq(act_checkpoints.exported, checkpoint.exported)
        const covered = own
          .select({ number: act_checkpoints.number })
          .from(act_checkpoints)
          .where(sameKind)
          .orderBy(desc(act_checkpoints.number))
          .limit(1)
          .offset(keptCheckpoints)
        await own.delete(act_checkpoints).where(and(sameKind, lte(act_checkpoints.number, sql`(${covered})`)))
      }),
  }
}

/** What writes acts inside a transaction. */
export const threadWriter = ({ read, write }: Access) => ({
  newest: (decision_ids: readonly string[]): Promise<StoredAct[]> =>
    read(decision_ids.map(keyOf.act), (db) => newestOf(db, decision_ids)),
  append(given: readonly UnplacedAct[]): void {
    for (const act of given)
      write(act.decision_id === null ? [] : [keyOf.act(act.decision_id)], ({ insertAct }) => insertAct(act))
  },
  erase(record_ids: readonly string[]): void {
    if (record_ids.length > 0)
      write([], ({ send }) =>
        send((db) =>
          db
            .update(acts)
            .set({ payload: null, salt: null })
            .where(inArray(acts.record_id, [...record_ids])),
        ),
      )
  },
})
