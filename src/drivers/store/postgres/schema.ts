/**
 * The tables of the store in PostgreSQL, from which `bun run migrations` generates SQL; what Drizzle can't express is written by hand in a
 * separate file.
 */
import { sql } from 'drizzle-orm'
import { bigserial, boolean, doublePrecision, index, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import {
  type DecisionFields,
  decisionFields,
  type Field,
  type FieldName,
} from '../../../../sdk/schema/decision-fields.ts'
import type { Edge, Generation } from '../../../../sdk/storage/store.ts'
import { big, bytea, fieldColumn, json, text, texts } from '../../shared/postgres/columns.ts'
import { ledgerTables } from '../../shared/postgres/ledger-tables.ts'

const requiredColumn = <Data>(field: Field) => fieldColumn<Data>(field).notNull()
const optionalColumn = <Data>(field: Field) => fieldColumn<Data>(field)
type ColumnName = Exclude<FieldName, 'id' | 'indexed'>
type FieldColumns = {
  [N in ColumnName]: null extends DecisionFields[N]
    ? ReturnType<typeof optionalColumn<NonNullable<DecisionFields[N]>>>
    : ReturnType<typeof requiredColumn<DecisionFields[N]>>
}
const { id: _, indexed: __, ...declared } = decisionFields
const fieldColumns = Object.fromEntries(
  Object.entries<Field>(declared).map(([name, field]) => [
    name,
    field.nullable ? optionalColumn(field) : requiredColumn(field),
  ]),
) as unknown as FieldColumns

export const decisions = pgTable(
  'decisions',
  {
    id: text().primaryKey(),
    revision: integer().notNull(),
    source_key: text().unique(),
    ...fieldColumns,
    /** The analysed text, from which the search index is built. */
    terms: text().notNull(),
    /** The record. */
    doc: json().notNull(),
  },
  (table) => [
    index('decisions_created').on(table.created_ms, table.id),
    index('decisions_category').on(table.category, table.created_ms),
    index('decisions_project').on(table.project, table.pr),
    index('decisions_pending')
      .on(table.created_ms, table.id, table.review_by_ms, table.stakes)
      .where(sql`status = 'pending'`),
    index('decisions_updated').on(table.updated_ms),
    index('decisions_suffix').on(sql`substr(id, 21) collate "C"`),
    index('decisions_tags').using('gin', table.tags),
    index('decisions_confidence').on(sql`coalesce(confidence, -1)`, table.id),
  ],
)

/**
 * The latest change of each decision. A decision that has a change and no row in `decisions` was erased. In a separate table, so that the
 * indexes of `decisions` need not be written again.
 */
export const changes = pgTable(
  'changes',
  {
    id: text().primaryKey(),
    /** Ascends in the order of commits: numbers are assigned under the lock of writers, which is held until the commit. */
    seq: bigserial({ mode: 'number' }).notNull(),
    /** Whether the active generation has its vectors. Nearly all decisions have them; only the others are looked up. */
    indexed: boolean().notNull(),
  },
  (table) => [index('changes_seq').on(table.seq), index('changes_unindexed').on(table.id).where(sql`not indexed`)],
)

/**
 * Number of decisions with each value of each single key, kept by triggers: counting a hundred thousand rows takes longer than a caller of
 * statistics waits. Days are numbers since 1970, UTC.
 */
export const totals = pgTable(
  'totals',
  { key: text().notNull(), value: text().notNull(), count: integer().notNull() },
  (table) => [primaryKey({ columns: [table.key, table.value] })],
)

/** Spellings that differ from their skeleton, so that counts find all texts that look alike. */
export const spellings = pgTable(
  'spellings',
  { field: text().notNull(), look: text().notNull(), value: text().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.look, table.value] })],
)

/** The types of the reasons of decisions. */
export const reasons = pgTable(
  'reasons',
  {
    id: text().notNull(),
    type: text().notNull(),
    /** Number of reasons of the type. */
    uses: integer().notNull(),
    /** Sum over all uses. */
    strength: doublePrecision().notNull(),
  },
  (table) => [primaryKey({ columns: [table.id, table.type] })],
)

export const edges = pgTable(
  'edges',
  {
    source_id: text().notNull(),
    target_id: text().notNull(),
    edge_type: text().$type<Edge['edge_type']>().notNull(),
    weight: doublePrecision().notNull(),
    context: text(),
    created_at: text().notNull(),
    created_by: text().notNull(),
    effective: boolean().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source_id, table.target_id, table.edge_type, table.created_by] }),
    index('edges_target').on(table.target_id),
    index('edges_type').on(table.edge_type, table.created_at),
  ],
)

export const generations = pgTable('generations', {
  number: integer().primaryKey().generatedAlwaysAsIdentity(),
  embedder: text().notNull(),
  dimensions: integer().notNull(),
  state: text().$type<Generation['state']>().notNull(),
})

export const embeddings = pgTable(
  'embeddings',
  {
    generation: integer().notNull(),
    id: text().notNull(),
    /** 32-bit floats, little-endian; null if the side equals an earlier one, which `shared` names. */
    structure: bytea().notNull(),
    function: bytea(),
    both: bytea(),
    /** 1: function is structure; 2: both is structure; 4: both is function. */
    shared: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.id, table.generation] })],
)

/** What servers share besides decisions. */
export const keyed_records = pgTable(
  'keyed_records',
  {
    collection: text().notNull(),
    key: text().notNull(),
    version: integer().notNull(),
    value: json().notNull(),
    expires_ms: doublePrecision(),
  },
  (table) => [
    primaryKey({ columns: [table.collection, table.key] }),
    index('keyed_records_expires').on(table.collection, table.expires_ms).where(sql`expires_ms is not null`),
  ],
)

/**
 * Append-only. Triggers refuse TRUNCATE, UPDATE, except of the detail of entries that the latest redaction names, and DELETE, except of
 * entries that the latest retention entry covers.
 */
export const audit = pgTable(
  'audit',
  {
    seq: big().primaryKey().generatedAlwaysAsIdentity(),
    at_ms: doublePrecision().notNull(),
    agent: text().notNull(),
    method: text().notNull(),
    allowed: boolean(),
    rules: texts().notNull(),
    entry: json().notNull(),
  },
  (table) => [
    index('audit_at').on(table.at_ms),
    index('audit_method').on(table.method, table.seq),
    index('audit_rules').using('gin', table.rules),
    index('audit_retention').on(table.seq).where(sql`method = 'audit.retention'`),
    index('audit_redaction').on(table.seq).where(sql`method = 'audit.redaction'`),
  ],
)

/** Append-only. Triggers refuse DELETE, TRUNCATE, and UPDATE except for erasure. */
export const acts = pgTable(
  'acts',
  {
    num: big().primaryKey().generatedAlwaysAsIdentity(),
    record_id: text().notNull().unique(),
    kind: text().notNull(),
    decision_id: text(),
    at: text().notNull(),
    /** Null once erased; the same applies to the salt. */
    payload: text(),
    salt: text(),
    commitment: text().notNull(),
  },
  (table) => [index('acts_decision').on(table.decision_id).where(sql`decision_id is not null`)],
)

/** Acts that wait for their places. */
export const acts_waiting = pgTable('acts_waiting', { num: big().primaryKey() })

/** The places of acts. In a separate table, so that acts need not be written again. */
export const act_places = pgTable('act_places', { seq: big().primaryKey(), num: big().notNull().unique() })

/** The tree over the acts that have places. */
export const { nodes: act_nodes, head: act_head, checkpoints: act_checkpoints } = ledgerTables('act_')

/** Tokens that servers lease for the requests of an agent. Unlogged: a bucket that is lost starts full again. */
export const rate_limits = pgTable('rate_limits', {
  agent: text().primaryKey(),
  tokens: doublePrecision().notNull(),
  at_ms: doublePrecision().notNull(),
  /** Tokens that the last lease got. */
  granted: doublePrecision().notNull(),
})
