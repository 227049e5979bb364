/** Decisions inside a write transaction: the document, and all that is derived from it. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { fieldsOf } from '../../../../sdk/storage/fields.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type {
  CountFilter,
  DecisionFields,
  DecisionWriter,
  StoredDecision,
  StoreOptions,
} from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { rankOf, toText } from '../../shared/postgres/filter.ts'
import { edgesOf } from '../resident/groups.ts'
import { holdsVectors, whereOf } from './filter.ts'
import type { Connection, Verb } from './transaction.ts'

export interface StoredRow {
  doc: string
  revision: number
  indexed: boolean
}

export const storedColumns = `d.doc::text as doc, d.revision, ${holdsVectors('d.num')} as indexed`

export const storedOf = ({ doc, revision, indexed }: StoredRow): StoredDecision => ({
  record: JSON.parse(doc),
  revision,
  indexed,
})

/** Columns in the order of {@link valuesOf}, with their types. */
const columns: readonly [name: string, type: string][] = [
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
/** Placeholders from `$first` on. The document goes as text, so that it stays as it was written. */
const places = (first: number): string[] =>
  columns.map(([, type], index) => `$${first + index}${type === 'json' ? '::text::json' : `::${type}`}`)

export function valuesOf(record: DecisionRecord, terms: string): unknown[] {
  const fields = fieldsOf(record, false)
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

const insertSql = `insert into decisions (id, revision, ${names.join(', ')}) values ($1, 1, ${places(2).join(', ')})
  on conflict do nothing returning num::float8 as num`
const updateSql = `update decisions set revision = revision + 1, ${names.map((name, index) => `${name} = ${places(2)[index]}`).join(', ')}
  where id = $1`

/** The texts of a decision that are not written as they look: few, and mostly known. */
function spellingsOf({
  category,
  project,
  feature,
  tags,
}: DecisionFields): { field: string; look: string; value: string }[] {
  const all = [
    ['category', category],
    ['project', project],
    ['feature', feature],
    ...tags.map((tag) => ['tag', tag] as const),
  ] as const
  return all.flatMap(([field, value]) => {
    const look = value === null ? null : skeleton(value)
    return look === null || look === value ? [] : [{ field, look: toText(look), value: toText(value!) }]
  })
}

async function putDerived(query: Query, num: number, record: DecisionRecord, fresh: boolean): Promise<void> {
  const work: Promise<unknown>[] = []
  if (!fresh) {
    work.push(query('delete from edges where source_id = $1', [record.id]))
    work.push(query('delete from reasons where num = $1::bigint', [num]))
  }
  const types = [...new Set(record.reasons.map(({ type }) => type))]
  if (types.length > 0) {
    const own = types.map((type) => record.reasons.filter((reason) => reason.type === type))
    work.push(
      query(
        `insert into reasons (num, type, uses, strength)
         select $1::bigint, t, u, s from unnest($2::text[], $3::int[], $4::float8[]) as given (t, u, s)`,
        [
          num,
          types.map(toText),
          own.map(({ length }) => length),
          own.map((reasons) => reasons.reduce((sum, { strength }) => sum + strength, 0)),
        ],
      ),
    )
  }
  const spelled = spellingsOf(fieldsOf(record, false))
  if (spelled.length > 0)
    work.push(
      query(
        // In one order, so that two writers don't wait for each other.
        `insert into spellings (field, look, value)
         select f, l, v from unnest($1::text[], $2::text[], $3::text[]) as given (f, l, v) order by 1, 2, 3 on conflict do nothing`,
        [spelled.map(({ field }) => field), spelled.map(({ look }) => look), spelled.map(({ value }) => value)],
      ),
    )
  for (const edge of edgesOf(record))
    work.push(
      query(
        `insert into edges (source_id, target_id, edge_type, weight, context, created_at, created_by, effective)
         values ($1, $2, $3, $4::float8, $5, $6, $7, $8::bool)`,
        [
          edge.source_id,
          toText(edge.target_id),
          edge.edge_type,
          edge.weight,
          toText(edge.context),
          edge.created_at,
          toText(edge.created_by),
          edge.effective,
        ],
      ),
    )
  await Promise.all(work)
}

export function decisionWriter(
  { query, lock, touch }: Connection,
  verb: Verb,
  analyse: StoreOptions['analyse'],
  outcomes: DecisionWriter['outcomes'],
): DecisionWriter {
  /** What is counted stays true until the commit, as nobody else who counts gets further. */
  const counting = () => lock('counts', 'all')

  const sourceTaken = (record: DecisionRecord) =>
    new StorageError('conflict', `the id or source key of decision ${record.id} is taken`)

  async function holderOf(key: string): Promise<string | null> {
    await lock('source', key)
    const [row] = await query<{ id: string }>('select id from decisions where source_key = $1', [toText(key)])
    return row?.id ?? null
  }

  return {
    get: verb(async (id: string) => {
      await lock('decision', id)
      const [row] = await query<StoredRow>(`select ${storedColumns} from decisions d where d.id = $1`, [toText(id)])
      return row === undefined ? null : storedOf(row)
    }),
    count: verb(async (filter: CountFilter) => {
      await counting()
      const values: unknown[] = []
      const where = whereOf(filter, values)
      const [row] = await query<{ count: number }>(
        `select count(*)::int as count from decisions d where ${where}`,
        values,
      )
      return row!.count
    }),
    outcomes: verb(async (filter: CountFilter) => {
      await counting()
      return outcomes(filter)
    }),
    idOfSource: verb(holderOf),
    create: verb(async (record: DecisionRecord) => {
      const values = valuesOf(record, analyse(record))
      await lock('decision', record.id)
      if (record.source_key !== null) await lock('source', record.source_key)
      const [row] = await query<{ num: number }>(insertSql, [record.id, ...values])
      if (row === undefined) throw sourceTaken(record)
      touch(record.id)
      await Promise.all([query('insert into totals (decisions) values (1)'), putDerived(query, row.num, record, true)])
    }),
    update: verb(async (record: DecisionRecord, revision: number) => {
      const values = valuesOf(record, analyse(record))
      await lock('decision', record.id)
      const [row] = await query<{ num: number; revision: number }>(
        'select num::float8 as num, revision from decisions where id = $1',
        [record.id],
      )
      if (row === undefined) throw new StorageError('not_found', `there is no decision ${record.id}`)
      if (row.revision !== revision)
        throw new StorageError('conflict', `decision ${record.id} is at revision ${row.revision}, not ${revision}`)
      const holder = record.source_key === null ? null : await holderOf(record.source_key)
      if (holder !== null && holder !== record.id) throw sourceTaken(record)
      await query(updateSql, [record.id, ...values])
      touch(record.id)
      await putDerived(query, row.num, record, false)
    }),
  }
}
