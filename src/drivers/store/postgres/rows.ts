/** Rows of decisions: which columns are stored for a record, and how they are read. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import type { StoredText } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { fromText, rankOf, toText } from '../../shared/postgres/filter.ts'
import { isIndexed } from './filter.ts'

/** The decisions with these ids that exist, in the order of `ids`. */
export async function getStored(query: Query, ids: readonly string[]): Promise<StoredText[]> {
  const rows = await query<StoredText>(
    `select d.id, d.doc::text as json, d.agent, d.created_ms, d.revision, ${isIndexed} as indexed
     from unnest($1::text[]) with ordinality as given (id, n) join decisions d on d.id = given.id order by given.n`,
    [ids.map(toText)],
  )
  return rows.map((row) => ({ ...row, agent: fromText(row.agent) }))
}

/** The decision that has a source key, if there is one. */
export async function idsOfSource(query: Query, source_key: string): Promise<string[]> {
  const rows = await query<{ id: string }>('select id from decisions where source_key = $1', [toText(source_key)])
  return rows.map(({ id }) => id)
}

/** Columns in the order of {@link valuesOf}, with their types. */
export const columns: readonly [name: string, type: string][] = [
  ['source_key', 'text'],
  ['category', 'text'],
  ['confidence', 'float8'],
  ['stakes', 'int'],
  ['status', 'text'],
  ['outcome', 'text'],
  ['project', 'text'],
  ['feature', 'text'],
  ['pr', 'bigint'],
  ['tags', 'text[]'],
  ['agent', 'text'],
  ['created_ms', 'float8'],
  ['review_by_ms', 'float8'],
  ['reviewed_ms', 'float8'],
  ['confidence_at_record', 'float8'],
  ['settled_by', 'text'],
  ['preserve', 'bool'],
  ['terms', 'text'],
  ['doc', 'json'],
]
export const names = columns.map(([name]) => name)
export function valuesOf(record: DecisionRecord, terms: string): unknown[] {
  const fields = filterFields(record, false)
  return [
    toText(record.source_key),
    toText(fields.category),
    fields.confidence,
    rankOf(fields.stakes),
    fields.status,
    fields.outcome,
    toText(fields.project),
    toText(fields.feature),
    fields.pr,
    fields.tags.map(toText),
    toText(fields.agent),
    fields.created_ms,
    fields.review_by_ms,
    fields.reviewed_ms,
    fields.confidence_at_record,
    fields.settled_by,
    fields.preserve,
    toText(terms),
    JSON.stringify(record),
  ]
}
