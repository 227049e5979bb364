/** The tables of `cstp.db`, from which `bun run migrations` generates SQL; triggers are written by hand in a separate file. */
import { sql } from 'drizzle-orm'
import { blob, index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { FieldName } from '../../../../sdk/schema/decision-fields.ts'
import { ledgerTables } from '../../shared/sqlite/ledger-tables.ts'

/** The columns for filters, sorting and the feed. */
export const decisions = sqliteTable(
  'decisions',
  {
    num: integer().primaryKey(),
    id: text().notNull().unique(),
    revision: integer().notNull(),
    /** Number of the latest change, unique and ascending over all decisions. */
    seq: integer().notNull().unique(),
    source_key: text(),
    category: text(),
    confidence: real(),
    stakes: text().notNull(),
    status: text().notNull(),
    outcome: text(),
    project: text(),
    feature: text(),
    pr: integer(),
    /** JSON array. */
    tags: text().notNull(),
    agent: text().notNull(),
    created_ms: real().notNull(),
    /** Time of the last change. */
    updated_ms: real().notNull(),
    review_by_ms: real().notNull(),
    confidence_at_record: real(),
    settled_by: text(),
    preserve: integer().notNull(),
    reviewed_ms: real(),
    /** 1 if the active generation has its vectors. */
    indexed: integer().notNull().default(0),
    /** 1 if its file was removed: hidden from all reads, but kept. 2 if it was erased: only its id is left. */
    gone: integer().notNull().default(0),
    file_size: integer().notNull().default(-1),
    file_mtime: real().notNull().default(0),
    /** SHA-256 of the file, lowercase hex. */
    file_hash: text().notNull().default(''),
  },
  // Only decisions that are neither hidden nor erased are indexed.
  ({ id, created_ms, ...table }) => [
    uniqueIndex('decisions_source_key').on(table.source_key).where(sql`source_key is not null`),
    index('decisions_created').on(created_ms, id).where(sql`gone = 0`),
    index('decisions_agent').on(table.agent, created_ms, id).where(sql`gone = 0`),
    index('decisions_project').on(table.project, created_ms, id).where(sql`gone = 0`),
    // In the order in which drift and calibration group: they read an index alone.
    index('decisions_scored')
      .on(
        table.category,
        table.confidence_at_record,
        table.outcome,
        table.settled_by,
        created_ms,
        table.agent,
        table.stakes,
        table.reviewed_ms,
        table.project,
        table.pr,
      )
      .where(sql`gone = 0`),
    // The same of an agent. A new decision has no outcome, so recording doesn't write it.
    index('decisions_settled')
      .on(
        table.agent,
        table.reviewed_ms,
        table.confidence_at_record,
        table.outcome,
        table.settled_by,
        table.stakes,
        table.category,
        created_ms,
        table.project,
        table.pr,
      )
      .where(sql`gone = 0 and outcome is not null`),
    index('decisions_updated').on(table.updated_ms).where(sql`gone = 0`),
    index('decisions_pr').on(table.pr).where(sql`gone = 0 and pr is not null`),
    index('decisions_feature').on(table.feature).where(sql`gone = 0 and feature is not null`),
    index('decisions_status').on(table.status, created_ms, id, table.review_by_ms).where(sql`gone = 0`),
    index('decisions_unindexed').on(created_ms, id).where(sql`gone = 0 and indexed = 0`),
  ],
) satisfies Record<FieldName, unknown>

/** Spellings that differ from their skeleton, so that counts find all texts that look alike. */
export const spellings = sqliteTable(
  'spellings',
  { field: text().notNull(), look: text().notNull(), value: text().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.look, table.value] })],
)

/** Number of decisions of each category, stakes, status, outcome, agent, project, day and tag; kept by triggers. */
export const totals = sqliteTable(
  'totals',
  { key: text().notNull(), value: text().notNull(), count: integer().notNull() },
  (table) => [primaryKey({ columns: [table.key, table.value] })],
)

export const tags = sqliteTable('tags', { tag: text().notNull(), num: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.tag, table.num] }),
])

/** The types of a decision's reasons. */
export const reasons = sqliteTable(
  'reasons',
  {
    num: integer().notNull(),
    type: text().notNull(),
    uses: integer().notNull(),
    /** Sum over all uses. */
    strength: real().notNull(),
  },
  (table) => [primaryKey({ columns: [table.num, table.type] })],
)

export const documents = sqliteTable('documents', {
  num: integer().primaryKey(),
  /** The record as JSON. */
  doc: text().notNull(),
})

export const search_terms = sqliteTable('search_terms', {
  num: integer().primaryKey(),
  /** The analysed text, from which the search index is built. */
  terms: text().notNull(),
})

export const edges = sqliteTable(
  'edges',
  {
    source_id: text().notNull(),
    target_id: text().notNull(),
    edge_type: text().notNull(),
    weight: real().notNull(),
    context: text(),
    created_at: text().notNull(),
    created_by: text().notNull(),
    effective: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source_id, table.target_id, table.edge_type, table.created_by] }),
    index('edges_target').on(table.target_id),
    index('edges_type').on(table.edge_type, table.created_at),
  ],
)

/** Files to be put in place. A row is written with the decision and deleted once its file is in place and synced. */
export const pending_files = sqliteTable('pending_files', {
  num: integer().primaryKey(),
  revision: integer().notNull(),
})

export const generations = sqliteTable('generations', {
  number: integer().primaryKey({ autoIncrement: true }),
  embedder: text().notNull(),
  dimensions: integer().notNull(),
  state: text({ enum: ['active', 'building'] }).notNull(),
})

export const embeddings = sqliteTable(
  'embeddings',
  {
    num: integer().notNull(),
    generation: integer().notNull(),
    /** 32-bit floats, little-endian; null if the side equals an earlier one, which `shared` names. */
    structure: blob({ mode: 'buffer' }).notNull(),
    function: blob({ mode: 'buffer' }),
    both: blob({ mode: 'buffer' }),
    /** 1: function is structure; 2: both is structure; 4: both is function. */
    shared: integer().notNull(),
  },
  (table) => [uniqueIndex('embeddings_generation').on(table.generation, table.num)],
)

/** What servers share besides decisions. */
export const keyed_records = sqliteTable(
  'keyed_records',
  {
    collection: text().notNull(),
    key: text().notNull(),
    version: integer().notNull(),
    /** JSON. */
    value: text().notNull(),
    expires_ms: real(),
  },
  (table) => [
    primaryKey({ columns: [table.collection, table.key] }),
    index('keyed_records_expires').on(table.collection, table.expires_ms).where(sql`expires_ms is not null`),
  ],
)

/**
 * Append-only. Triggers refuse UPDATE, except of the detail of entries that the latest redaction names, and DELETE, except of entries that
 * the latest retention entry covers.
 */
export const audit = sqliteTable(
  'audit',
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    at: text().notNull(),
    at_ms: real().notNull(),
    agent: text().notNull(),
    method: text().notNull(),
    request_id: text().notNull(),
    ids: text({ mode: 'json' }).$type<string[]>().notNull(),
    allowed: integer({ mode: 'boolean' }),
    rules: text({ mode: 'json' }).$type<string[]>().notNull(),
    detail: text({ mode: 'json' }).$type<unknown>(),
  },
  (table) => [index('audit_at').on(table.at_ms), index('audit_method').on(table.method)],
)

export const audit_rules = sqliteTable('audit_rules', { rule: text().notNull(), seq: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.rule, table.seq] }),
])

/** Append-only. Triggers refuse DELETE, and UPDATE except for erasure. `seq` is the place of an act once the tree has grown over it. */
export const acts = sqliteTable(
  'acts',
  {
    seq: integer().primaryKey(),
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

/** The tree over the acts that have places. */
export const { nodes: act_nodes, head: act_head, checkpoints: act_checkpoints } = ledgerTables('act_')

/** Tables without a separate rowid: the primary key is the table's B-tree. */
export const without_rowid = [spellings, totals, tags, act_nodes]
