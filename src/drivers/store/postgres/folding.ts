/** Folds the changes of the tallies into totals, so that readers have few rows to add. */
import type { Client } from '../../shared/postgres/client.ts'
import { tryLockName } from './locks.ts'

/** The columns of a combination. */
export const kind = 'agent, category, stakes, status, outcome, settled_by, confidence_at_record, preserve'
const delta = `xid, created_ms, ${kind}, decisions`
/** The number of latest deltas to keep at least; a server that is further behind reads all totals again. */
const deltasKept = 10_000
const folds = [
  // The most frequent question, counts by one field of all decisions, is added up here, so that readers need not add up the many
  // combinations.
  `with taken as (delete from deltas returning *), kept as (insert into folded_deltas (${delta}) select ${delta} from taken),
   alone as (insert into value_totals (field, value, decisions) select v.field, v.value, sum(d.decisions)
     from taken d, kind_values(d.agent, d.category, d.stakes, d.status, d.outcome) v group by v.field, v.value
     on conflict (field, value) do update set decisions = value_totals.decisions + excluded.decisions)
   insert into totals (kind, ${kind}, decisions) select row(${kind})::text, ${kind}, sum(decisions) from taken group by ${kind}
   on conflict (kind) do update set decisions = totals.decisions + excluded.decisions`,
  'delete from totals where decisions = 0',
  // Not beyond the oldest open transaction: snapshots of servers reach back to it, and those servers would have to read all totals again.
  `update feed set deltas_from = old.xid from (select least(xid, pg_snapshot_xmin(pg_current_snapshot())) as xid
     from folded_deltas order by folded_deltas.xid desc offset ${deltasKept} limit 1) old where deltas_from < old.xid`,
  'delete from folded_deltas where xid < (select deltas_from from feed)',
  `with taken as (delete from value_deltas returning *)
   insert into value_totals (field, value, decisions) select field, value, sum(decisions) from taken group by field, value
   on conflict (field, value) do update set decisions = value_totals.decisions + excluded.decisions`,
  'delete from value_totals where decisions = 0',
]
/** The number of changes after which a server folds. */
const foldEvery = 1_000

/**
 * Folds the changes, unless another server is folding.
 * @param forget whether to delete the latest deltas too, which hold the values that erased decisions were counted by
 * @returns whether it folded
 */
export const foldTallies = ({ begin }: Pick<Client, 'begin'>, forget = false): Promise<boolean> =>
  begin(async (query) => {
    const [row] = await query<{ free: boolean }>(`select ${tryLockName(`'tallies'`)} as free`)
    const statements = forget ? [...folds, 'select forget_deltas()'] : folds
    if (row!.free) await Promise.all(statements.map((sql) => query(sql)))
    return row!.free
  })

/** Receives numbers of changes, and folds after many. Unfolded changes are counted all the same, and the next fold includes them. */
export function folding(client: Pick<Client, 'begin'>): (changes: number) => void {
  let unfolded = 0
  return (changes) => {
    unfolded += changes
    if (unfolded < foldEvery) return
    unfolded = 0
    foldTallies(client).catch(() => {})
  }
}
