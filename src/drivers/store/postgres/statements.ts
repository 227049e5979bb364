/** SQL that the query builder can't express. */
import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { outboxCollection } from '../../../../sdk/storage/keyed.ts'
import { toText } from '../../shared/postgres/text.ts'
import {
  acts,
  acts_waiting,
  changes,
  decisions,
  embeddings,
  generations,
  keyed_records,
  rate_limits,
  spellings,
} from './schema.ts'

const named = (column: { name: string }): SQL => sql.identifier(column.name) as unknown as SQL

/** Texts as one array. */
export const textArray = (texts: readonly string[]): SQL => sql`${sql.param(texts.map(toText))}::text[]`

/** True if the active generation has vectors for the decision with this id. */
export const hasVectors = (
  id: SQL,
): SQL => sql`exists (select from ${embeddings} join ${generations} on ${generations.number} = ${embeddings.generation}
  where ${generations.state} = 'active' and ${embeddings.id} = ${id})`

/** The same, as it was written down by the decision's latest change. The few decisions without vectors have an index of their own. */
const isUnindexed = sql`exists (select from ${changes} where ${changes.id} = ${decisions.id} and not ${changes.indexed})`
// The builder removes the tables' names from columns that are immediate parts of a selected expression.
export const isIndexed = sql<boolean>`(not ${isUnindexed})`

/** The part of an id after `yyyy-mm-dd-decision-`, as it is indexed. */
export const idSuffix = sql`substr(${decisions.id}, 21) collate "C"`

/** The values of a field that look alike. An array is evaluated once, so that an index on the column can be used. */
export const spelled = (field: string, look: string): SQL =>
  sql`(array(select ${spellings.value} from ${spellings} where ${spellings.field} = ${field} and ${spellings.look} = ${toText(look)}) || ${toText(look)}::text)`

/** The day of a time in milliseconds, UTC: `yyyy-mm-dd`. */
export const dayOf = (ms: PgColumn): SQL<string> =>
  sql`to_char(timestamp 'epoch' + floor(${ms} / 86400000) * interval '1 day', 'YYYY-MM-DD')`

/** A table `tags` with the distinct tags of each decision. */
export const tagsOf = (tags: PgColumn): SQL => sql`lateral (select distinct unnest(${tags}) collate "C" as tag) as tags`

/** Corrects which decisions have vectors, after another generation became the active one. */
export const updateIndexed = sql`update ${changes} set ${named(changes.indexed)} = not ${changes.indexed}
  where exists (select from ${decisions} where ${decisions.id} = ${changes.id}) and ${changes.indexed} <> ${hasVectors(sql`${changes.id}`)}`

/** Deletes the spellings that only this decision has. */
export const dropSpellings = (id: string): SQL => sql`delete from ${spellings} using ${decisions}
  where ${decisions.id} = ${id} and (${spellings.field}, ${spellings.value}) in (
    select 'category', ${decisions.category} union all select 'project', ${decisions.project}
    union all select 'feature', ${decisions.feature} union all select 'tag', unnest(${decisions.tags}))
  and not exists (select from ${decisions} as other where other.id <> ${id} and case ${spellings.field}
    when 'category' then other.category = ${spellings.value} when 'project' then other.project = ${spellings.value}
    when 'feature' then other.feature = ${spellings.value} else other.tags @> array[${spellings.value}] end)`

/**
 * Takes acts that wait for their places. Each is looked up by its number: the planner learns late how a table grows, and would read all
 * acts.
 */
export const takeWaiting = (limit: number): SQL => sql`with taken as (
    delete from ${acts_waiting} where num = any(array(select num from ${acts_waiting} order by num limit ${limit}))
    returning num, (select ${acts.commitment} from ${acts} where ${acts.num} = ${acts_waiting.num}) as commitment)
  select num::text as num, commitment from taken order by taken.num`

/** How many decisions have vectors of the active generation, and why the others have none. */
export const countVectors = sql`with active as (
    select ${generations.number}, ${generations.embedder}, ${generations.dimensions} from ${generations} where ${generations.state} = 'active')
  select (select embedder from active) as embedder,
    exists (select from ${generations} where ${generations.state} = 'building') as building,
    count(*)::float8 as decisions,
    (count(*) filter (where e.id is null))::float8 as unindexed,
    (count(*) filter (where e.id is null and o.key is not null))::float8 as waiting,
    (select value ->> 'error' from ${keyed_records} where collection = ${outboxCollection} and value ->> 'error' is not null
      order by (value ->> 'attempts')::int desc limit 1) as error,
    (select count(*)::float8 from ${embeddings} as x left join ${decisions} using (id), active a where x.generation = a.number
      and (${decisions.id} is null or length(x.structure) <> a.dimensions * 4)) as odd
  from ${decisions} as d left join ${embeddings} as e on e.id = d.id and e.generation = (select number from active)
    left join ${keyed_records} as o on o.collection = ${outboxCollection} and o.key = d.id`

/** The tokens in a bucket at the time of the request: `limit` at most. */
const available = (limit: number, perMs: number): SQL =>
  sql`least(${limit}::float8, ${rate_limits.tokens} + greatest(0, excluded.at_ms - ${rate_limits.at_ms}) * ${perMs}::float8)`

/** Takes up to `tokens` from the bucket of an agent; a new bucket is full. */
export function leaseTokens(agent: string, tokens: number, { burst, perMs }: { burst: number; perMs: number }): SQL {
  const left = available(burst, perMs)
  const granted = sql`least(${tokens}::float8, floor(${left}))`
  const first = Math.min(burst, tokens)
  return sql`insert into ${rate_limits} (agent, tokens, at_ms, granted)
    values (${toText(agent)}, ${burst - first}::float8, extract(epoch from clock_timestamp()) * 1000, ${first}::float8)
    on conflict (agent) do update set tokens = ${left} - ${granted}, granted = ${granted},
      at_ms = greatest(${rate_limits.at_ms}, excluded.at_ms)
    returning granted`
}
