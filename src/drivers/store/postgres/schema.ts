/** The tables of the store in PostgreSQL, from which `bun run migrations` generates SQL; what Drizzle can't say is written by hand beside it. */
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
    /** The analysed text: the search index is made of it. */
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

/** Number of a decision's latest change, made of that of its transaction. Apart from the decision, whose indexes would all be written again. */
export const changes = pgTable(
  'changes',
  {
    num: big().primaryKey(),
    seq: big().notNull(),
    /** Whether the active generation holds its vectors. Nearly all do: only the others are looked up. */
    indexed: boolean().notNull(),
    /** False while the decision is as it was first made, without an outcome. */
    settled: boolean().notNull(),
  },
  (table) => [
    index('changes_seq').on(table.seq),
    index('changes_bare').on(table.num).where(sql`not indexed`),
    index('changes_settled').on(table.seq).where(sql`settled`),
  ],
)

/** Decisions that were erased: only the id is left, so that indexes hear of it. */
export const erased = pgTable('erased', { num: big().primaryKey(), id: text().notNull().unique() })

/** One row: what is added to the number of a transaction, so that numbers never fall; and from which transaction on all deltas are there. */
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

/** A change of the tallies: of which transaction, and of which time its decision is. */
const delta = () => ({
  xid: xid8().notNull().default(sql`pg_current_xact_id()`),
  created_ms: doublePrecision().notNull(),
  ...counted(),
})

/** Decisions of each combination, by triggers: the sum of both tables. Rows of `deltas` are only added, so that writers never wait; now and then they are folded. */
export const deltas = pgTable('deltas', delta())
/** The last ones that were folded: servers that remember counts follow these. */
export const folded_deltas = pgTable('folded_deltas', delta(), (table) => [index('folded_deltas_xid').on(table.xid)])
/** See `deltas`; `kind` is the combination as text, whose parts may be null. */
export const totals = pgTable('totals', { kind: text().primaryKey(), ...counted() })

/**
 * Decisions of each day (number since 1970, UTC), project and tag, kept the same way; in the totals also of each agent, category, stakes,
 * status and outcome, which are folded out of `deltas`.
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

/** Spellings of texts that don't look as they are written, so that counts find all that look alike. */
export const spellings = pgTable(
  'spellings',
  { field: text().notNull(), look: text().notNull(), value: text().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.look, table.value] })],
)

/** The types of a reviewed decision's reasons. Triggers keep the totals. */
export const reasons = pgTable(
  'reasons',
  {
    num: big().notNull(),
    type: text().notNull(),
    /** The one that is scored. */
    confidence: doublePrecision().notNull(),
    outcome: text().notNull(),
    uses: integer().notNull(),
    /** Sum over the uses. */
    strength: doublePrecision().notNull(),
  },
  (table) => [primaryKey({ columns: [table.num, table.type] })],
)

/** What reasons are counted by, and their sums. */
const reasoned = () => ({
  type: text().notNull(),
  confidence: doublePrecision().notNull(),
  outcome: text().notNull(),
  decisions: big().notNull(),
  uses: big().notNull(),
  strength: doublePrecision().notNull(),
})
export const reason_deltas = pgTable('reason_deltas', reasoned())
export const reason_totals = pgTable('reason_totals', reasoned(), (table) => [
  primaryKey({ columns: [table.type, table.confidence, table.outcome] }),
])

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
    /** 32-bit floats, little-endian; null where the side equals an earlier one, which `shared` names. */
    structure: bytea().notNull(),
    function: bytea(),
    both: bytea(),
    /** 1: function is structure; 2: both is structure; 4: both is function. */
    shared: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.num, table.generation] })],
)

/** What servers agree on besides decisions. */
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

/** Append-only: triggers refuse TRUNCATE, UPDATE but of the detail of lines that the latest redaction names, and DELETE but of lines that the latest line of their retention covers. */
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

/** Append-only: triggers refuse DELETE, TRUNCATE, and UPDATE but of what is erased. */
export const acts = pgTable(
  'acts',
  {
    num: big().primaryKey().generatedAlwaysAsIdentity(),
    record_id: text().notNull().unique(),
    kind: text().notNull(),
    decision_id: text(),
    at: text().notNull(),
    /** Null once erased, as the salt. */
    payload: text(),
    salt: text(),
    commitment: text().notNull(),
  },
  (table) => [index('acts_decision').on(table.decision_id).where(sql`decision_id is not null`)],
)

/** Acts that wait for their places. */
export const acts_waiting = pgTable('acts_waiting', { num: big().primaryKey() })

/** The places of acts, apart from the acts, which would all be written again. */
export const act_places = pgTable('act_places', { seq: big().primaryKey(), num: big().notNull().unique() })

/** The tree over the acts that have their places. */
export const { nodes: act_nodes, head: act_head, checkpoints: act_checkpoints } = logTables('act_')

/** Tokens that servers lease for the requests of an agent. Unlogged: a bucket that is lost is full again. */
export const rate_limits = pgTable('rate_limits', {
  agent: text().primaryKey(),
  tokens: doublePrecision().notNull(),
  at_ms: doublePrecision().notNull(),
  /** What the last lease got. */
  granted: doublePrecision().notNull(),
})
