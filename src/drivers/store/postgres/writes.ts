/** Drafts as statements: one for each kind of write, whatever the number of drafts. */
import { edgesOf } from '../../../../sdk/storage/edges.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { reasonSums } from '../../../../sdk/storage/groups.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { DecisionFields } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { arrayText, type Each, openStatement } from '../../shared/postgres/rows.ts'
import type { DecisionWrite, Draft, VectorWrite } from './draft.ts'
import { numberChanges } from './feed.ts'
import { holdsVectors } from './filter.ts'
import { columns, names, valuesOf } from './rows.ts'

/**
 * Sends the writes of drafts, which must not concern the same keys. New decisions with everything that belongs to them are one statement;
 * what they replace is removed before it. `given`: number of changes that the transaction has numbered before.
 */
export function send(query: Query, drafts: readonly Draft[], given: number): Promise<unknown>[] {
  const { each, send: sendThem } = openStatement(query)
  const written = drafts.flatMap(({ decisions }) => [...decisions.values()])
  const vectors = drafts.flatMap(({ vectors }) => [...vectors])
  const [made, changed] = [true, false].map((isNew) => written.filter(({ replaces }) => (replaces === 0) === isNew))
  changeDecisions(changed!, each)
  dropVectors(vectors, each)
  const sent = sendThem()
  const gone = drafts.flatMap(({ gone }) => [...gone])
  const changes = changesOf(drafts).filter((id) => !gone.includes(id))
  makeDecisions(made!, changes, each)
  putParts(written, each)
  putVectors(vectors, each)
  if (changes.length > 0) numberThem(given, vectors, each)
  putKeyed(drafts, each)
  putLogs(drafts, each)
  sent.push(...sendThem())
  if (gone.length > 0) sent.push(...eraseDecisions(query, gone.map(toText), given + changes.length))
  each(
    ['text'],
    drafts.flatMap(({ erased }) => erased.map((record_id) => [toText(record_id)])),
    (rows) =>
      `update acts a set payload = null, salt = null from ${rows} as g (record_id) where a.record_id = g.record_id`,
  )
  sent.push(...sendThem())
  return sent
}

/** Audit entries, and acts that wait for their places. */
function putLogs(drafts: readonly Draft[], each: Each): void {
  each(
    ['float8', 'text', 'text', 'bool', 'text', 'document'],
    drafts.flatMap(({ audit }) => audit),
    (rows) => `insert into audit (at_ms, agent, method, allowed, rules, entry)
      select at_ms, agent, method, allowed, rules::text[], entry::json from ${rows} with ordinality as given (at_ms, agent, method, allowed, rules, entry, n)
      order by n`,
  )
  const acts = drafts.flatMap(({ acts }) => acts)
  each(
    ['text', 'text', 'text', 'text', 'document', 'text', 'text'],
    acts,
    (rows) => `insert into acts (record_id, kind, decision_id, at, payload, salt, commitment)
      select record_id, kind, decision_id, at, payload, salt, commitment
      from ${rows} with ordinality as given (record_id, kind, decision_id, at, payload, salt, commitment, n) order by n returning num`,
    'acted',
  )
  if (acts.length > 0) each([], [], () => 'insert into acts_waiting (num) select num from acted')
}

/** Ids of the decisions that change, each once. */
export const changesOf = (drafts: readonly Draft[]): string[] => [
  ...new Set(drafts.flatMap(({ decisions, gone, vectors }) => [...decisions.keys(), ...gone, ...vectors.keys()])),
]

/** Leaves only the id and the number of the change. */
const eraseDecisions = (query: Query, ids: readonly string[], given: number): Promise<unknown>[] => [
  query('insert into erased (num, id) select num, id from decisions where id = any($1::text[])', [ids]),
  query(
    `delete from spellings s using decisions d where d.id = any($1::text[]) and (s.field, s.value) in (
       select 'category', d.category union all select 'project', d.project union all select 'feature', d.feature
       union all select 'tag', unnest(d.tags))
     and not exists (select from decisions o where o.id <> all($1::text[]) and case s.field when 'category' then o.category = s.value
       when 'project' then o.project = s.value when 'feature' then o.feature = s.value else o.tags @> array[s.value] end)`,
    [ids],
  ),
  ...['embeddings', 'reasons'].map((table) =>
    query(`delete from ${table} x using decisions d where d.id = any($1::text[]) and x.num = d.num`, [ids]),
  ),
  query('delete from edges where source_id = any($1::text[])', [ids]),
  query('delete from decisions where id = any($1::text[])', [ids]),
  query(numberChanges('(select num, false as indexed, $2::int as given from erased where id = any($1::text[])) x'), [
    ids,
    given,
  ]),
]

/** Column types of a decision row; arrays and documents are sent as text, so that they stay as they were written. */
const givenAs: Record<string, string> = { 'text[]': 'text', json: 'document' }
const types = ['text', 'int', ...columns.map(([, type]) => givenAs[type] ?? type)]
const selected = columns.map(([name, type]) => `g.${name}${type in givenAs ? `::${type}` : ''}`)

function rowOf({ record, revision, terms }: DecisionWrite): unknown[] {
  const values = valuesOf(record, terms)
  return [
    toText(record.id),
    revision,
    ...values.map((value) => (Array.isArray(value) ? arrayText(value as string[]) : value)),
  ]
}

const given = `as g (id, revision, ${names.join(', ')})`

/** Inserts new decisions, and defines `known`: the numbers of all that change. */
function makeDecisions(made: readonly DecisionWrite[], changes: readonly string[], each: Each): void {
  const found = 'id, num'
  each(
    types,
    made.map(rowOf),
    (
      rows,
    ) => `insert into decisions (id, revision, ${names.join(', ')}) select g.id, g.revision, ${selected} from ${rows} ${given}
      returning ${found}`,
    'made',
  )
  const isMade = new Set(made.map(({ record }) => record.id))
  const others = changes.filter((id) => !isMade.has(id)).map((id) => [toText(id)])
  const all = made.length > 0 ? ['select * from made'] : []
  if (changes.length > 0)
    each(
      others.length > 0 ? ['text'] : [],
      others,
      (rows) => {
        if (others.length > 0) all.push(`select ${found} from decisions where id in (select * from ${rows})`)
        return all.join(' union all ')
      },
      'known',
    )
}

/** Numbers the changes of all `known` decisions. The statement does not see its own writes. */
function numberThem(before: number, vectors: Vectors, each: Each): void {
  const active = "select from put_vectors v join generations g on g.number = v.generation where g.state = 'active'"
  const indexed = vectors.some(([, rows]) => rows !== null && rows.length > 0)
    ? `${holdsVectors('k.num')} or exists (${active} and v.num = k.num)`
    : holdsVectors('k.num')
  each(['int'], [[before]], (rows) =>
    numberChanges(`(select k.num, ${indexed} as indexed, g.given from known k, ${rows} as g (given)) x`),
  )
}

/** Updates existing decisions, and deletes their edges and reasons. */
function changeDecisions(old: readonly DecisionWrite[], each: Each): void {
  const oldIds = old.map(({ record }) => [toText(record.id)])
  each(
    types,
    old.map(rowOf),
    (rows) => `update decisions d set revision = g.revision, ${names.map((name, at) => `${name} = ${selected[at]}`)}
      from ${rows} ${given} where d.id = g.id`,
  )
  each(['text'], oldIds, (rows) => `delete from edges using ${rows} as g (id) where source_id = g.id`)
  each(
    ['text'],
    oldIds,
    (rows) => `delete from reasons r using ${rows} as g (id), decisions d where d.id = g.id and r.num = d.num`,
  )
}

/** Inserts the reasons, spellings and edges of decisions. */
function putParts(written: readonly DecisionWrite[], each: Each): void {
  each(
    ['text', 'text', 'int', 'float8'],
    written.flatMap(({ record: { id, reasons } }) =>
      reasonSums(reasons).map(({ reason, uses, strength }) => [toText(id), toText(reason), uses, strength]),
    ),
    (rows) => `insert into reasons (num, type, uses, strength)
      select d.num, g.type, g.uses, g.strength from ${rows} as g (id, type, uses, strength) join known d on d.id = g.id`,
  )
  each(
    ['text', 'text', 'text'],
    written.flatMap(({ record }) => spellingsOf(filterFields(record, false))),
    // In a fixed order, so that two writers can't deadlock.
    (rows) => `insert into spellings (field, look, value)
      select distinct field, look, value from ${rows} as g (field, look, value) order by 1, 2, 3 on conflict do nothing`,
  )
  each(
    ['text', 'text', 'text', 'float8', 'text', 'text', 'text', 'bool'],
    written.flatMap(({ record }) =>
      edgesOf(record).map((edge) => [
        toText(edge.source_id),
        toText(edge.target_id),
        edge.edge_type,
        edge.weight,
        toText(edge.context),
        edge.created_at,
        toText(edge.created_by),
        edge.effective,
      ]),
    ),
    (rows) =>
      `insert into edges (source_id, target_id, edge_type, weight, context, created_at, created_by, effective) select * from ${rows}`,
  )
}

/** The texts of a decision that differ from their skeleton: few, and mostly known. */
function spellingsOf({ category, project, feature, tags }: DecisionFields): string[][] {
  const all = [
    ['category', category],
    ['project', project],
    ['feature', feature],
    ...tags.map((tag) => ['tag', tag] as const),
  ] as const
  return all.flatMap(([field, value]) => {
    const look = value === null ? null : skeleton(value)
    return look === null || look === value ? [] : [[field, toText(look), toText(value!)]]
  })
}

const base64 = (bytes: Uint8Array | null) =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

type Vectors = readonly (readonly [id: string, VectorWrite | null])[]

const dropVectors = (all: Vectors, each: Each): void =>
  each(
    ['text'],
    all.flatMap(([id, rows]) => (rows === null ? [[toText(id)]] : [])),
    (rows) => `delete from embeddings e using ${rows} as g (id), decisions d where d.id = g.id and e.num = d.num`,
  )

function putVectors(all: Vectors, each: Each): void {
  each(
    ['int', 'text', 'text', 'text', 'text', 'int'],
    all.flatMap(([id, rows]) =>
      (rows ?? []).map(({ generation, row }) => [
        generation,
        toText(id),
        base64(row.structure),
        base64(row.function),
        base64(row.both),
        row.shared,
      ]),
    ),
    (rows) => `insert into embeddings (generation, num, structure, function, "both", shared)
      select g.generation, d.num, decode(g.structure, 'base64'), decode(g.function, 'base64'), decode(g."both", 'base64'), g.shared
      from ${rows} as g (generation, id, structure, function, "both", shared) join known d on d.id = g.id
      on conflict (generation, num) do update set structure = excluded.structure, function = excluded.function,
        "both" = excluded."both", shared = excluded.shared returning generation, num`,
    'put_vectors',
  )
}

function putKeyed(drafts: readonly Draft[], each: Each): void {
  const all = drafts.flatMap(({ keyed }) => [...keyed.values()])
  each(
    ['text', 'text'],
    all.flatMap(({ collection, key, value }) => (value === null ? [[collection, toText(key)]] : [])),
    (rows) =>
      `delete from keyed_records k using ${rows} as g (collection, key) where k.collection = g.collection and k.key = g.key`,
  )
  each(
    ['text', 'text', 'document', 'float8'],
    all.flatMap(({ collection, key, value, expires_ms }) =>
      value === null ? [] : [[collection, toText(key), value, expires_ms]],
    ),
    (rows) => `insert into keyed_records as r (collection, key, version, value, expires_ms)
      select g.collection, g.key, 1, g.value::json, g.expires_ms from ${rows} as g (collection, key, value, expires_ms)
      on conflict (collection, key) do update set version = r.version + 1, value = excluded.value, expires_ms = excluded.expires_ms`,
  )
}
