/**
 * The feed of changes that derived indexes follow, in the order in which transactions began to write. It needs no lock: the number of a
 * change is derived from its transaction number, and PostgreSQL knows which transactions are still open.
 */
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import type { Feed, FeedEntry } from '../../../../sdk/storage/store.ts'
import { type Client, namespaceLock } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'
import { unpackVectors, type VectorRow } from '../shared.ts'
import { type FieldRow, fieldColumns, fieldsOfRow } from './filter.ts'

/** Numbers that each transaction has for its changes; further changes share the last number. */
const perTransaction = 4_096

const lastNumber = 2n ** 63n - 1n

/**
 * Run before a transaction writes anything: readers that look for the end of the feed see from this lock that changes may follow. It blocks
 * no other transaction.
 */
export const announceChanges = 'lock table changes in row exclusive mode'

/**
 * Assigns numbers to changes.
 * @param changed the rest of the query after `from`: rows with `num` and `indexed`, and `given`, the number of changes that the
 * transaction has numbered before
 */
export const numberChanges = (changed: string): string =>
  `insert into changes (num, seq, indexed)
   select num, ((select base from feed) + pg_current_xact_id()::text::bigint) * ${perTransaction}
     + least(given + row_number() over (order by num) - 1, ${perTransaction - 1}), indexed
   from ${changed} order by num
   on conflict (num) do update set seq = excluded.seq, indexed = excluded.indexed`

/**
 * The newest committed change, and whether another may still appear at or before it: that is, whether an open transaction has a lower
 * number and may write changes. Transactions of other programs may not, however long they take, as their locks show. A transaction whose
 * locks can't be seen is just getting its number or has just ended, and counts as one that may.
 */
const headSql = `with newest as (select coalesce($1::bigint, max(seq), 0) as seq from changes),
  held as materialized (select pid, locktype, transactionid, relation, mode from pg_locks
    where (select seq from newest) / ${perTransaction} >= (select base from feed) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      and (locktype = 'transactionid' and mode = 'ExclusiveLock' or locktype = 'relation' and mode = 'RowExclusiveLock'
        and relation = 'changes'::regclass and database = (select oid from pg_database where datname = current_database())))
  select seq::float8 as seq, coalesce((select number from generations where state = 'active'), 0) as generation,
    seq / ${perTransaction} >= (select base from feed) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    and exists (select from pg_snapshot_xip(pg_current_snapshot()) own
      where (select base from feed) + own::text::bigint <= seq / ${perTransaction} and not exists (
        select from held where held.transactionid = own::xid
          and not exists (select from held writer where writer.pid = held.pid and writer.locktype = 'relation'))) as more
  from newest`

/** The longest pause between two checks, in milliseconds. */
const longestPause = 20

type FeedRow = Partial<VectorRow> & FieldRow & { seq: number; terms: string; erased_id: string | null }

/**
 * A decision that changes again while the feed is read moves beyond the end, and its earlier change, which was acknowledged long ago, would
 * be missed. So committed changes beyond the end are read too, with the number of the end; they appear again with their own number. The
 * start position is hidden from the planner, which would otherwise replan for each position: that takes longer than reading the new
 * changes.
 */
const feedSql = (
  limit: number,
) => `select least(c.seq, $3::bigint)::float8 as seq, ${fieldColumns}, c.indexed, d.terms, x.id as erased_id,
    e.structure, e.function, e."both", e.shared
  from changes c left join decisions d on d.num = c.num left join erased x on x.num = c.num
    left join embeddings e on e.generation = (select $1::int) and e.num = d.num
  where c.seq > (select $2::bigint) and c.seq <= ${lastNumber} and (d.num is not null or x.num is not null)
  order by c.seq, c.num fetch first ${limit} rows with ties`

function entryOf(row: FeedRow): FeedEntry {
  const { seq, terms, erased_id, structure, function: own, both, shared, ...fields } = row
  if (erased_id !== null) return { seq, id: erased_id, fields: null, terms: '', vectors: null }
  return {
    seq,
    id: fields.id,
    fields: fieldsOfRow(fields),
    terms: fromText(terms),
    vectors: structure == null ? null : unpackVectors({ structure, function: own!, both: both!, shared: shared! }),
  }
}

export function feedReader({ read }: Pick<Client, 'read'>): Feed {
  /** The end that was found last: no change can appear before it, and committed changes beyond it are read with it. */
  let end = 0
  /** Reads the newest committed change, and waits until no other can appear before it. */
  const readHead = async () => {
    let seq: number | null = null
    for (let pause = 0; ; pause = Math.min(longestPause, 2 * pause + 1)) {
      const [row]: { seq: number; generation: number; more: boolean }[] = await read(headSql, [seq])
      if (!row!.more) {
        end = Math.max(end, row!.seq)
        return { seq: row!.seq, generation: row!.generation }
      }
      seq = row!.seq
      if (pause > 0) await Bun.sleep(pause)
    }
  }

  /** Concurrent searches share one query. */
  const head = sharedRun(readHead)

  return {
    head,
    async since(after, generation, limit) {
      if (end <= after) await head()
      if (end <= after) return []
      const rows = await read<FeedRow>(feedSql(limit), [generation, after, end])
      return rows.map(entryOf)
    },
  }
}

/**
 * Handles a database that was restored elsewhere, which may hold numbers that its transactions have not reached yet: numbers of new changes
 * follow the old ones, and all deltas count as old.
 */
export async function levelFeed({ begin }: Client): Promise<void> {
  await begin(async (query) => {
    await query(namespaceLock)
    await query(
      `update feed set base = base + 1 + behind.by from (
         select coalesce(max(seq), 0) / ${perTransaction} - (select base from feed) - pg_snapshot_xmax(pg_current_snapshot())::text::bigint as by
         from changes) behind where behind.by >= 0`,
    )
    await query(`update feed set deltas_from = '0' where deltas_from > pg_snapshot_xmax(pg_current_snapshot())`)
    for (const table of ['deltas', 'folded_deltas'])
      await query(`update ${table} set xid = pg_current_xact_id() where xid >= pg_snapshot_xmax(pg_current_snapshot())`)
  })
}
