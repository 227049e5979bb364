/**
 * The tables of the store in PostgreSQL, from which `bun run migrations` generates SQL; what Drizzle can't express is written by hand in a
 * separate file.
 */
import { sql } from 'drizzle-orm'
import { boolean, doublePrecision, index, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, bytea, json, text, texts, xid8 } from '../../shared/postgres/columns.ts'
import { logTables } from '../../shared/postgres/log-tables.ts'

export const decisions = pgTable(
  'decisions',
  {
    id: text().primaryKey(),
    num: big().notNull().generatedAlwaysAsIdentity().unique(),
    revision: integer().notNull(),
    source_key: text().unique(),
    category: text(),
    confidence: doublePrecision(),
    /** 0 low to 3 critical. */
    stakes: integer().notNull(),
    status: text().notNull(),
    outcome: text(),
    project: text(),
    feature: text(),
    pr: big(),
    tags: texts().notNull(),
    agent: text().notNull(),
    created_ms: doublePrecision().notNull(),
    review_by_ms: doublePrecision().notNull(),
    confidence_at_record: doublePrecision(),
    settled_by: text(),
    preserve: boolean().notNull(),
    /** The analysed text, from which the search index is built. */
    terms: text().notNull(),
    /** The record. */
    doc: json().notNull(),
    reviewed_ms: doublePrecision(),
  },
  (table) => [
    index('decisions_created').on(table.created_ms, table.id),
    index('decisions_category').on(table.category, table.created_ms),
    index('decisions_project').on(table.project, table.pr),
    index('decisions_pending')
      .on(table.created_ms, table.id, table.review_by_ms, table.stakes)
      .where(sql`status = 'pending'`),
    index('decisions_suffix').on(sql`substr(id, 21) collate "C"`),
    index('decisions_tags').using('gin', table.tags),
    index('decisions_confidence').on(sql`coalesce(confidence, -1)`, table.id),
  ],
)

/**
 * Number of a decision's latest change, derived from the transaction number. In a separate table, so that the indexes of `decisions` need
 * not be written again.
 */
export const changes = pgTable(
  'changes',
  {
    num: big().primaryKey(),
    seq: big().notNull(),
    /** Whether the active generation has its vectors. Nearly all decisions have them; only the others are looked up. */
    indexed: boolean().notNull(),
  },
  (table) => [index('changes_seq').on(table.seq), index('changes_bare').on(table.num).where(sql`not indexed`)],
)

/** Erased decisions: only the id is left, so that derived indexes learn of the erasure. */
export const erased = pgTable('erased', { num: big().primaryKey(), id: text().notNull().unique() })

/**
 * One row: the offset that is added to transaction numbers so that change numbers never decrease, and the first transaction from which all
 * deltas are kept.
 */
export const feed = pgTable('feed', { base: big().notNull(), deltas_from: xid8().notNull().default('0') })

/** What decisions are counted by. */
const counted = () => ({
  agent: text().notNull(),
  category: text(),
  stakes: integer().notNull(),
  status: text().notNull(),
  outcome: text(),
  settled_by: text(),
  confidence_at_record: doublePrecision(),
  preserve: boolean().notNull(),
  decisions: big().notNull(),
})

/** A change of the tallies: its transaction, and the time of its decision. */
const delta = () => ({
  xid: xid8().notNull().default(sql`pg_current_xact_id()`),
  created_ms: doublePrecision().notNull(),
  ...counted(),
})

/**
 * Number of decisions of each combination, kept by triggers: the sum of `deltas` and `totals`. Rows are only added to `deltas`, so that
 * writers never wait; they are folded from time to time.
 */
export const deltas = pgTable('deltas', delta())
/** The deltas that were folded last; servers with counters in memory follow them. */
export const folded_deltas = pgTable('folded_deltas', delta(), (table) => [index('folded_deltas_xid').on(table.xid)])
/** See `deltas`. `kind` is the combination as text, because parts of it may be null. */
export const totals = pgTable('totals', { kind: text().primaryKey(), ...counted() })

/**
 * Number of decisions of each day (days since 1970, UTC), project and tag, kept in the same way. The totals also have each agent, category,
 * stakes, status and outcome, which are folded from `deltas`.
 */
export const value_deltas = pgTable('value_deltas', {
  field: text().notNull(),
  value: text().notNull(),
  decisions: big().notNull(),
})
export const value_totals = pgTable(
  'value_totals',
  { field: text().notNull(), value: text().notNull(), decisions: big().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.value] })],
)

/** Spellings that differ from their skeleton, so that counts find all texts that look alike. */
export const spellings = pgTable(
  'spellings',
  { field: text().notNull(), look: text().notNull(), value: text().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.look, table.value] })],
)

/** The types of a decision's reasons. */
export const reasons = pgTable(
  'reasons',
  {
    num: big().notNull(),
    type: text().notNull(),
    uses: integer().notNull(),
    /** Sum over all uses. */
    strength: doublePrecision().notNull(),
  },
  (table) => [primaryKey({ columns: [table.num, table.type] })],
)

export const edges = pgTable(
  'edges',
  {
    source_id: text().notNull(),
    target_id: text().notNull(),
    edge_type: text().notNull(),
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
  state: text().notNull(),
})

export const embeddings = pgTable(
  'embeddings',
  {
    generation: integer().notNull(),
    num: big().notNull(),
    /** 32-bit floats, little-endian; null if the side equals an earlier one, which `shared` names. */
    structure: bytea().notNull(),
    function: bytea(),
    both: bytea(),
    /** 1: function is structure; 2: both is structure; 4: both is function. */
    shared: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.num, table.generation] })],
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
export const { nodes: act_nodes, head: act_head, checkpoints: act_checkpoints } = logTables('act_')

/** Tokens that servers lease for the requests of an agent. Unlogged: a bucket that is lost starts full again. */
export const rate_limits = pgTable('rate_limits', {
  agent: text().primaryKey(),
  tokens: doublePrecision().notNull(),
  at_ms: doublePrecision().notNull(),
  /** Tokens that the last lease got. */
  granted: doublePrecision().notNull(),
})
