/**
 * The thread in PostgreSQL. All servers write acts concurrently; the one that locks the head's row gives committed acts their places. So
 * there is one order, and no caller waits.
 */
import { growsTree } from '../../../../sdk/storage/evidence-checks.ts'
import {
  type ActEntry,
  keptCheckpoints,
  type StoredAct,
  type ThreadReader,
  type ThreadWriter,
  type UnplacedAct,
} from '../../../../sdk/storage/thread.ts'
import { checkpointColumns, checkpointValues, contiguous, type HeadRow, headOf } from '../../shared/log-rows.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { rowsOf } from '../../shared/postgres/rows.ts'
import type { Access, Verb } from './transaction.ts'

const columns = 'p.seq::float8 as seq, a.record_id, a.kind, a.decision_id, a.at, a.payload, a.salt, a.commitment'
const selectHead = 'select seq::float8 as seq, hash, frontier from act_head'

const actOf = (row: StoredAct): StoredAct => ({
  ...row,
  record_id: fromText(row.record_id),
  decision_id: fromText(row.decision_id),
})

export const threadReader = ({ read, begin }: Pick<Client, 'read' | 'begin'>): ThreadReader => ({
  async head() {
    const [row] = await read<HeadRow>(selectHead)
    return headOf(row, 'postgres thread')
  },
  async hashes(seq, limit) {
    const rows = await read<{ commitment: string }>(
      `select a.commitment from act_places p join acts a using (num) where p.seq >= $1::bigint order by p.seq limit $2::int`,
      [seq, limit],
    )
    return rows.map(({ commitment }) => commitment)
  },
  async nodes(level, index, limit) {
    const rows = await read<{ at: number; hash: string }>(
      `select "index"::float8 as at, hash from act_nodes where level = $1::int and "index" >= $2::bigint
       order by "index" limit $3::int`,
      [level, index, limit],
    )
    return contiguous(rows, index)
  },
  async read(query) {
    const rows = await ('record_ids' in query
      ? read<StoredAct>(
          `select ${columns} from unnest($1::text[]) with ordinality as wanted (record_id, n)
           join acts a on a.record_id = wanted.record_id left join act_places p using (num) order by wanted.n`,
          [query.record_ids.map(toText)],
        )
      : query.from === null
        ? read<StoredAct>(
            `select ${columns} from acts_waiting join acts a using (num) left join act_places p using (num) order by num limit $1::int`,
            [query.limit],
          )
        : read<StoredAct>(
            `select ${columns} from act_places p join acts a using (num) where p.seq >= $1::bigint order by p.seq limit $2::int`,
            [query.from, query.limit],
          ))
    return rows.map(actOf)
  },
  async ofDecision(decision_id, limit) {
    const rows = await read<ActEntry>(
      `select p.seq::float8 as seq, a.record_id, a.kind, a.at, coalesce(octet_length(a.payload), 0) as bytes
       from acts a left join act_places p using (num) where a.decision_id = $1 order by p.seq nulls last, a.num limit $2::int`,
      [toText(decision_id), limit],
    )
    return rows.map((row) => ({ ...row, record_id: fromText(row.record_id) }))
  },
  async sequence(grow, limit) {
    if ((await read('select from acts_waiting limit 1')).length === 0) return 0
    return begin(async (query) => {
      const [row] = await query<HeadRow>(`${selectHead} for update`)
      const head = headOf(row, 'postgres thread')
      // Acts of open transactions are not visible yet: they get later places. Each act is looked up by its number: the planner learns late
      // how a table grows, and would read all acts.
      const taken = await query<{ num: string; commitment: string }>(
        `with taken as (delete from acts_waiting w where num = any(array(select num from acts_waiting order by num limit $1::int))
           returning num, (select commitment from acts a where a.num = w.num) as commitment)
         select taken.num::text as num, commitment from taken order by taken.num`,
        [limit],
      )
      const last = taken.at(-1)
      if (last === undefined) return 0
      const grown = grow(
        head,
        taken.map(({ commitment }) => commitment),
      )
      const end = head.seq + taken.length
      growsTree(head.seq, end, grown)
      const [nodes, values] = rowsOf(
        ['int', 'bigint', 'text'],
        grown.nodes.map(({ level, index, hash }) => [level, index, hash]),
      )
      await Promise.all([
        query(
          `insert into act_places (seq, num) select $1::bigint + n, num::bigint from unnest($2::text[]) with ordinality as g (num, n)`,
          [head.seq, taken.map(({ num }) => num)],
        ),
        query(`insert into act_nodes (level, "index", hash) select * from ${nodes}`, values),
        query('update act_head set seq = $1::bigint, hash = $2, frontier = $3', [
          end,
          last.commitment,
          JSON.stringify(grown.frontier),
        ]),
      ])
      return taken.length
    })
  },
  async saveCheckpoint(checkpoint) {
    await begin(async (query) => {
      await query(`insert into act_checkpoints (${checkpointColumns}) values ($1::bigint, $2, $3, $4, $5::boolean)`, [
        ...checkpointValues(checkpoint),
      ])
      await query(
        `delete from act_checkpoints where exported = $1::boolean and number <=
           (select number from act_checkpoints where exported = $1::boolean order by number desc limit 1 offset $2::int)`,
        [checkpoint.exported, keptCheckpoints],
      )
    })
  },
  async checkpoints(latest) {
    const rows = await read<Awaited<ReturnType<ThreadReader['checkpoints']>>[number]>(
      `select ${checkpointColumns.replace('size', 'size::float8 as size')} from (select * from act_checkpoints order by number desc limit $1::bigint) as latest order by number`,
      [latest ?? null],
    )
    return rows.map((row) => ({ ...row }))
  },
})

export const threadWriter = ({ draft }: Access, verb: Verb): ThreadWriter => ({
  append: verb(async (acts: readonly UnplacedAct[]) => {
    for (const { record_id, kind, decision_id, at, payload, salt, commitment } of acts)
      draft.acts.push([toText(record_id), kind, toText(decision_id), at, payload, salt, commitment])
  }),
  erase: verb(async (record_ids: readonly string[]) => {
    draft.erased.push(...record_ids)
  }),
})
