/**
 * The writes of a group. Rows for one table are collected and inserted by one statement; other writes are sent at once, behind the rows
 * that were collected for the table that they change. So the writes of each table keep their order.
 */
import { and, eq, getTableColumns, getTableName, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Database } from '../../shared/postgres/database.ts'
import {
  acts,
  acts_waiting,
  audit,
  changes,
  decisions,
  edges,
  embeddings,
  keyed_records,
  reasons,
  spellings,
} from './schema.ts'
import { hasVectors, textArray } from './statements.ts'

const quoted = (name: string): string => `"${name}"`

/** JSON has no bytes. */
const jsonValue = (value: unknown): unknown =>
  value instanceof Uint8Array
    ? `\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}`
    : value

/** Inserts any number of rows, which are one parameter: a JSON text. */
function insertInto<T extends PgTable>(table: T, { generated = '', onConflict = '', key = [] as string[] } = {}) {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name !== generated)
  const types = columns.map(([, column]) => {
    const type = column.getSQLType()
    return { name: quoted(column.name), type: type === 'json' ? 'text' : type, cast: type === 'json' ? '::json' : '' }
  })
  const insert = `insert into ${quoted(getTableName(table))} (${types.map(({ name }) => name).join(', ')})
    select ${types.map(({ name, cast }) => name + cast).join(', ')} from json_to_recordset(`
  const rest = `::text::json) as given (${types.map(({ name, type }) => `${name} ${type}`).join(', ')}) ${onConflict}`
  const encode = (row: Record<string, unknown>) =>
    Object.fromEntries(
      columns.map(([name, column]) => {
        const value = row[name] ?? null
        return [column.name, value === null ? null : jsonValue(column.mapToDriverValue(value))]
      }),
    )
  return {
    table,
    /** A statement can't write a row twice. Rows with the same key are inserted by different ones. */
    keyOf: (row: T['$inferInsert']): string | null =>
      key.length === 0 ? null : JSON.stringify(key.map((name) => (row as Record<string, unknown>)[name])),
    sql: (rows: readonly T['$inferInsert'][]) =>
      sql`${sql.raw(insert)}${JSON.stringify(rows.map(encode))}${sql.raw(rest)}`,
  }
}
type Insert<T extends PgTable> = ReturnType<typeof insertInto<T>>

const inserts = {
  decision: insertInto(decisions),
  replacement: insertInto(decisions, {
    key: ['id'],
    onConflict: `on conflict (id) do update set ${Object.values(getTableColumns(decisions))
      .map((column) => `${quoted(column.name)} = excluded.${quoted(column.name)}`)
      .join(', ')}`,
  }),
  reason: insertInto(reasons),
  edge: insertInto(edges),
  spelling: insertInto(spellings, { onConflict: 'on conflict do nothing' }),
  vectors: insertInto(embeddings, {
    key: ['id', 'generation'],
    onConflict: `on conflict (id, generation) do update set structure = excluded.structure, function = excluded.function,
      "both" = excluded."both", shared = excluded.shared`,
  }),
  keyed: insertInto(keyed_records, {
    key: ['collection', 'key'],
    onConflict: `on conflict (collection, key) do update
      set value = excluded.value, expires_ms = excluded.expires_ms, version = keyed_records.version + 1`,
  }),
  audit: insertInto(audit, { generated: 'seq' }),
  act: insertInto(acts, { generated: 'num', onConflict: 'returning num' }),
}

type Statement = { execute(): Promise<unknown> }

export type Writes = ReturnType<typeof openWrites>

export function openWrites(db: Database) {
  const collected = new Map<Insert<PgTable>, { rows: object[]; keys: Set<string> }>()
  let sent: Promise<unknown>[] = []

  function sendRows(insert: Insert<PgTable>): void {
    const rows = collected.get(insert)?.rows
    if (rows === undefined) return
    collected.delete(insert)
    const statement = insert.sql(rows)
    sent.push(
      db
        .execute(
          insert.table === acts
            ? sql`with inserted as (${statement}) insert into ${acts_waiting} select num from inserted`
            : statement,
        )
        .execute(),
    )
  }
  function add<T extends PgTable>(insert: Insert<T>, row: T['$inferInsert']): void {
    const own = insert as unknown as Insert<PgTable>
    const key = insert.keyOf(row)
    if (key !== null && collected.get(own)?.keys.has(key)) sendRows(own)
    const { rows, keys } = collected.getOrInsertComputed(own, () => ({ rows: [], keys: new Set() }))
    rows.push(row)
    if (key !== null) keys.add(key)
  }
  /** Sends a statement behind the rows that were collected for a table, by default for all. */
  function send(build: (db: Database) => Statement, table?: PgTable): void {
    for (const insert of [...collected.keys()]) if (table === undefined || insert.table === table) sendRows(insert)
    // At once: as a promise it would be sent later than what follows.
    sent.push(build(db).execute())
  }
  return {
    insertDecision: (row: typeof decisions.$inferInsert) => add(inserts.decision, row),
    insertEdge: (row: typeof edges.$inferInsert) => add(inserts.edge, row),
    insertReason: (row: typeof reasons.$inferInsert) => add(inserts.reason, row),
    insertSpelling: (row: typeof spellings.$inferInsert) => add(inserts.spelling, row),
    putVectors: (row: typeof embeddings.$inferInsert) => add(inserts.vectors, row),
    putKeyed: (row: Omit<typeof keyed_records.$inferInsert, 'version'>) => add(inserts.keyed, { ...row, version: 1 }),
    insertAudit: (row: typeof audit.$inferInsert) => add(inserts.audit, row),
    insertAct: (row: typeof acts.$inferInsert) => add(inserts.act, row),
    replaceDecision: (row: typeof decisions.$inferInsert) => add(inserts.replacement, row),
    deleteEdges: (id: string) => send(() => db.delete(edges).where(eq(edges.source_id, id)), edges),
    deleteReasons: (id: string) => send(() => db.delete(reasons).where(eq(reasons.id, id)), reasons),
    deleteVectors: (id: string) => send(() => db.delete(embeddings).where(eq(embeddings.id, id)), embeddings),
    deleteKeyed: (collection: string, key: string) =>
      send(
        () => db.delete(keyed_records).where(and(eq(keyed_records.collection, collection), eq(keyed_records.key, key))),
        keyed_records,
      ),
    send,
    /** Numbers the latest changes of decisions, also of erased ones. */
    numberChanges: (ids: readonly string[]) =>
      send((db) =>
        db.execute(sql`insert into ${changes} (id, indexed)
          select id, not exists (select from ${decisions} where ${decisions.id} = given.id) or ${hasVectors(sql`given.id`)}
          from unnest(${textArray(ids)}) with ordinality as given (id, n) order by n
          on conflict (id) do update set seq = excluded.seq, indexed = excluded.indexed`),
      ),
    /** Sends what is collected. Resolves when everything that was sent is written. */
    async flush(): Promise<void> {
      for (const insert of [...collected.keys()]) sendRows(insert)
      const all = sent
      sent = []
      await Promise.all(all)
    },
  }
}
