/** The statements that most transactions send, built once; and the SQL that the query builder can't express. */
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { outboxCollection } from '../../../../sdk/storage/keyed.ts'
import { jsonText } from '../../shared/postgres/columns.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { toText } from '../../shared/postgres/text.ts'
import {
  acts,
  acts_waiting,
  audit,
  changes,
  decisions,
  edges,
  embeddings,
  generations,
  keyed_records,
  rate_limits,
  reasons,
  spellings,
} from './schema.ts'

const given = sql.placeholder
const named = (column: { name: string }): SQL => sql.identifier(column.name) as unknown as SQL

/** A parameter for each column, except those that the engine generates. */
const parameters = <T extends PgTable>(table: T, generated: readonly string[] = []): T['$inferInsert'] =>
  Object.fromEntries(
    Object.entries(getTableColumns(table))
      .filter(([name]) => !generated.includes(name))
      .map(([name, column]) => [name, column.getSQLType() === 'json' ? jsonText(given(name)) : given(name)]),
  ) as T['$inferInsert']

/** Texts as one array. */
export const textArray = (texts: readonly string[]): SQL => sql`${sql.param(texts.map(toText))}::text[]`

/** True if the active generation has vectors for the decision with this id. */
const hasVectors = (
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

export type WriteStatements = ReturnType<typeof writeStatements>

/** Each member sends one statement. @param db the database of transactions */
export function writeStatements(db: Database) {
  const row = parameters(decisions)
  const insertDecision = db.insert(decisions).values(row).prepare('insert_decision')
  const updateDecision = db
    .update(decisions)
    .set(row)
    .where(eq(decisions.id, given('id')))
    .prepare('update_decision')
  const deleteEdges = db
    .delete(edges)
    .where(eq(edges.source_id, given('id')))
    .prepare('delete_edges')
  const deleteReasons = db
    .delete(reasons)
    .where(eq(reasons.id, given('id')))
    .prepare('delete_reasons')
  const insertEdge = db.insert(edges).values(parameters(edges)).prepare('insert_edge')
  const insertReason = db.insert(reasons).values(parameters(reasons)).prepare('insert_reason')
  const insertSpelling = db
    .insert(spellings)
    .values(parameters(spellings))
    .onConflictDoNothing()
    .prepare('insert_spelling')
  const vectors = parameters(embeddings)
  const putVectors = db
    .insert(embeddings)
    .values(vectors)
    .onConflictDoUpdate({ target: [embeddings.id, embeddings.generation], set: vectors })
    .prepare('put_vectors')
  const deleteVectors = db
    .delete(embeddings)
    .where(eq(embeddings.id, given('id')))
    .prepare('delete_vectors')
  const keyed = { value: jsonText(given('value')), expires_ms: given('expires_ms') }
  const putKeyed = db
    .insert(keyed_records)
    .values({ ...parameters(keyed_records), version: 1 })
    .onConflictDoUpdate({
      target: [keyed_records.collection, keyed_records.key],
      set: { ...keyed, version: sql`${keyed_records.version} + 1` } as never,
    })
    .prepare('put_keyed')
  const deleteKeyed = db
    .delete(keyed_records)
    .where(and(eq(keyed_records.collection, given('collection')), eq(keyed_records.key, given('key'))))
    .prepare('delete_keyed')
  const insertAudit = db
    .insert(audit)
    .values(parameters(audit, ['seq']))
    .prepare('insert_audit')
  const inserted = db.$with('inserted').as(
    db
      .insert(acts)
      .values(parameters(acts, ['num']))
      .returning({ num: acts.num }),
  )
  const insertAct = db
    .with(inserted)
    .insert(acts_waiting)
    .select(db.select({ num: inserted.num }).from(inserted) as never)
    .prepare('insert_act')
  return {
    insertDecision: (values: typeof decisions.$inferInsert) => insertDecision.execute(values),
    updateDecision: (values: typeof decisions.$inferInsert) => updateDecision.execute(values),
    deleteEdges: (id: string) => deleteEdges.execute({ id }),
    deleteReasons: (id: string) => deleteReasons.execute({ id }),
    insertEdge: (values: typeof edges.$inferInsert) => insertEdge.execute(values),
    insertReason: (values: typeof reasons.$inferInsert) => insertReason.execute(values),
    insertSpelling: (values: typeof spellings.$inferInsert) => insertSpelling.execute(values),
    putVectors: (values: typeof embeddings.$inferInsert) => putVectors.execute(values),
    deleteVectors: (id: string) => deleteVectors.execute({ id }),
    putKeyed: (values: Omit<typeof keyed_records.$inferInsert, 'version'>) => putKeyed.execute(values),
    deleteKeyed: (collection: string, key: string) => deleteKeyed.execute({ collection, key }),
    insertAudit: (values: typeof audit.$inferInsert) => insertAudit.execute(values),
    insertAct: (values: typeof acts.$inferInsert) => insertAct.execute(values),
    /** Numbers the latest changes of decisions, also of erased ones. */
    numberChanges: (ids: readonly string[]) =>
      db
        .execute(sql`insert into ${changes} (id, indexed)
          select id, not exists (select from ${decisions} where ${decisions.id} = given.id) or ${hasVectors(sql`given.id`)}
          from unnest(${textArray(ids)}) with ordinality as given (id, n) order by n
          on conflict (id) do update set seq = excluded.seq, indexed = excluded.indexed`)
        .execute(),
  }
}
