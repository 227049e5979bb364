/**
 * The store port: the record itself, and everything that several servers must agree on.
 *
 * A driver promises:
 * - **Durable**: what a transaction wrote is on stable storage when its promise resolves.
 * - **All or nothing**: a transaction whose `work` throws, or whose process dies, leaves no trace.
 * - **Serial**: two transactions behave as if one had run after the other, over all processes on the same data.
 * - **Fresh**: a read that starts after a transaction resolved sees it, in every process.
 * - **Ordered**: every list has a total order, ties broken by id.
 *
 * Whatever goes wrong is thrown as a StorageError.
 * @see the suite in `conformance/store.ts`, which proves all of it on a driver
 */
import type { AttributionBasis, DecisionRecord, EdgeType, Outcome, Stakes, Status } from '../schema/decision.ts'
import type { VectorSet } from './vectors.ts'

/** An open store: readers over what is committed, and transactions that write. */
export interface Store {
  /** Name of the driver, such as `sqlite`. */
  readonly driver: string
  readonly decisions: DecisionReader
  readonly edges: EdgeReader
  readonly embeddings: EmbeddingReader
  readonly feed: Feed
  readonly sessions: SessionReader
  readonly breakers: BreakerReader
  readonly logins: LoginReader
  readonly audit: AuditReader
  readonly outbox: OutboxReader
  /**
   * Runs `work` in one transaction and resolves with its result once that is durable. `work` must await nothing but the
   * transaction's own verbs; it may run again from its start when the engine asks for it, so it must have no effects of its own.
   * @throws StorageError `conflict` from a verb inside, `unavailable` when the engine could not commit, and whatever `work` throws
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Facts for operators and metrics. */
  status(): Promise<StoreStatus>
  /**
   * Brings the catalogue level with a record that lives outside of the engine (files edited by hand); resolves with what was found.
   * A driver whose engine is the record has nothing to do.
   */
  reconcile(): Promise<StoreStatus['findings']>
  /** Closing twice is fine; calls after it throw `unavailable`. */
  close(): Promise<void>
}

/** Facts for operators and metrics. */
export interface StoreStatus {
  decisions: number
  outbox: number
  /** Findings of the last reconciliation with the files: broken, deleted or taken in by hand. Empty where there are none. */
  findings: { path: string; kind: 'added' | 'changed' | 'deleted' | 'broken'; message: string }[]
}

/** The verbs inside a transaction. Reads see the transaction's own writes. */
export interface Transaction {
  readonly decisions: DecisionWriter
  readonly embeddings: EmbeddingWriter
  readonly sessions: SessionWriter
  readonly breakers: BreakerWriter
  readonly logins: LoginWriter
  readonly audit: AuditWriter
  readonly outbox: OutboxWriter
  readonly idempotency: Idempotency
}

// ─── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a filter sees of a decision. */
export interface DecisionFields {
  id: string
  category: string
  confidence: number
  stakes: Stakes
  status: Status
  outcome: Outcome | null
  project: string | null
  feature: string | null
  pr: number | null
  tags: string[]
  /** `recorded_by` of the record. */
  agent: string
  /** `created_at` in milliseconds since 1970, UTC. */
  created_ms: number
  /** `review_by` in milliseconds since 1970, UTC. */
  review_by_ms: number
  confidence_at_review: number | null
  attribution_basis: AttributionBasis | null
  preserve: boolean
  /** True when the active generation holds its vectors. */
  indexed: boolean
}

/** All given members must hold; a member that is absent does not restrict. Bounds are inclusive. */
export interface DecisionFilter {
  category?: string
  min_confidence?: number
  max_confidence?: number
  /** Any of these. An empty list matches nothing; so for every list here. */
  stakes?: readonly Stakes[]
  status?: readonly Status[]
  outcome?: readonly Outcome[]
  project?: string
  feature?: string
  pr?: number
  agent?: string
  /** Any of these, compared exactly. */
  tags?: readonly string[]
  created_from_ms?: number
  created_to_ms?: number
  review_by_to_ms?: number
  preserve?: boolean
  indexed?: boolean
}

/** What a list of decisions is sorted by. */
export type DecisionSort = 'created_at' | 'confidence' | 'category' | 'stakes' | 'status'

/** A decision as it is stored. */
export interface StoredDecision {
  record: DecisionRecord
  /** Counts the writes to this decision, from 1. */
  revision: number
  /** True when the active generation holds its vectors. */
  indexed: boolean
}

/** Reads and searches decisions. */
export interface DecisionReader {
  /** The decision of this full id, or null. */
  get(id: string): Promise<StoredDecision | null>
  /** The record of this full id as JSON, for an answer that passes it on, or null. */
  json(id: string): Promise<string | null>
  /** Those that exist, in the order asked for. */
  getMany(ids: readonly string[]): Promise<StoredDecision[]>
  /** Ids that start with `prefix`, or whose part after `-decision-` does; at most `limit`, ascending. */
  findIds(prefix: string, limit: number): Promise<string[]>
  /** Page of the decisions that pass. Stakes sort by rank; ties by id in the same direction. `total` counts all that pass. */
  list(query: {
    filter: DecisionFilter
    /** Keep only decisions that hold every one of these terms. */
    terms?: readonly string[]
    sort: DecisionSort
    order: 'asc' | 'desc'
    /**
     * Keep only decisions that stand behind this one in the order, whether or not it still passes: walks a list page by page while
     * decisions enter and leave it. `total` counts those before it too.
     */
    after?: DecisionRecord
    offset: number
    limit: number
  }): Promise<{ records: DecisionRecord[]; total: number }>
  /** Every decision by ascending id, `limit` at a time, after the id `after`. For walks that must not hold memory. */
  walk(after: string | null, limit: number): Promise<StoredDecision[]>
  /** How many pass the filter. */
  count(filter: DecisionFilter): Promise<number>
  /** How many pass, split by the values of `by`. Descending count, then value; `day` ascending. Null values are left out. */
  countBy(filter: DecisionFilter, by: CountKey): Promise<{ value: string; count: number }[]>
  /**
   * The decisions that pass, grouped by what is scored: the confidence that stood at the first review (the present one while pending)
   * and the outcome. By confidence, then outcome (null first), then basis of the attribution (null first).
   */
  outcomes(filter: DecisionFilter): Promise<OutcomeGroup[]>
  /** The same for each value of `by`, by that value. Null values are left out. */
  outcomesBy(filter: DecisionFilter, by: 'category' | 'agent'): Promise<{ value: string; groups: OutcomeGroup[] }[]>
  /** Reviewed decisions with an outcome by the types of their reasons. By type, confidence, outcome. */
  reasons(): Promise<ReasonGroup[]>
  /** Patterns of reviewed decisions (their first 300 characters), most confirmed by success first, then by text; at most `limit`. */
  patterns(query: { category?: string; limit: number }): Promise<PatternGroup[]>
  /**
   * BM25 over all decisions (k1 1.2, b 0.75, idf = ln(1 + (N − n + .5)/(n + .5))), then the `limit` best that pass the filter.
   * `terms` are distinct and were made by the same analysis as the stored text. `ideal` is the most that these terms could score:
   * Σ idf·(k1 + 1). `total` counts what passes and holds a term; `total_unindexed` those of them without vectors. `also` names decisions
   * whose scores are wanted too, as {@link keywordScores} has them.
   */
  keyword(query: KeywordQuery): Promise<KeywordResult>
  /** The exact BM25 score of each of these ids; 0 where no term stands. Ids that do not exist are left out. */
  keywordScores(terms: readonly string[], ids: readonly string[]): Promise<Map<string, number>>
  /** Id of the decision imported under this key, or null. */
  idOfSource(source_key: string): Promise<string | null>
}

/** Decisions of one confidence, outcome and basis. */
export interface OutcomeGroup {
  confidence: number
  outcome: Outcome | null
  attribution_basis: AttributionBasis | null
  count: number
}

/** Reviewed decisions of one confidence and outcome that give a reason of this type. */
export interface ReasonGroup {
  type: string
  confidence: number
  outcome: Outcome
  decisions: number
  /** Reasons of the type; a decision may give several. */
  uses: number
  /** Sum of their strengths. */
  strength: number
}

/** How often a pattern was used, and how that went. */
export interface PatternGroup {
  pattern: string
  category: string
  decisions: number
  successes: number
  failures: number
  /** At most three, newest first. */
  example_ids: string[]
}

/** What decisions are counted by. */
export type CountKey = 'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'day' | 'tag' | 'project'

/** What a search by keyword asks; see {@link DecisionReader.keyword}. */
export interface KeywordQuery {
  terms: readonly string[]
  filter: DecisionFilter
  limit: number
  also?: readonly string[]
  /** False where `total` isn't wanted: it is 0 then. Counting may cost more than the search. */
  counted?: boolean
}

/** What a search by keyword found; see {@link DecisionReader.keyword}. */
export interface KeywordResult {
  hits: { id: string; score: number }[]
  total: number
  total_unindexed: number
  ideal: number
  also: Map<string, number>
}

/** Writes decisions inside a transaction. */
export interface DecisionWriter {
  /** The decision of this full id as the transaction sees it, or null. */
  get(id: string): Promise<StoredDecision | null>
  /** Id of the decision imported under this key, or null. */
  idOfSource(source_key: string): Promise<string | null>
  /**
   * Adds a decision: document, filter fields, keywords and the edges of its `links`.
   * @throws StorageError `conflict` when the id or the source key is taken
   */
  create(record: DecisionRecord): Promise<void>
  /**
   * Replaces the document of `record.id` and all that is derived from it, and counts the revision up.
   * @throws StorageError `conflict` when the stored revision is not `revision`, `not_found` when there is none
   */
  update(record: DecisionRecord, revision: number): Promise<void>
}

/** The terms of a text with their counts, made once by the domain. `length` counts all, repeated ones too. */
export interface Terms {
  counts: ReadonlyMap<string, number>
  length: number
}

/** What every store driver is opened with, beside its own options. */
export interface StoreOptions {
  /** Derives the search terms of a record; the same function for every driver, so that all back ends rank alike. */
  analyse(record: DecisionRecord): Terms
  /** Milliseconds since 1970, UTC. */
  now(): number
}

// ─── edges ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A typed edge from one decision to another. */
export interface Edge {
  source_id: string
  target_id: string
  edge_type: EdgeType
  weight: number
  context: string | null
  created_at: string
  created_by: string
}

/** Reads the edges that the records’ links are. */
export interface EdgeReader {
  /** Edges of these types, newest first, then by source, target and type. */
  list(query: { types: readonly EdgeType[]; limit: number }): Promise<Edge[]>
  /** Edges at any of these decisions; by source, target, type. Derived from the records' `links`. */
  of(
    ids: readonly string[],
    query: { direction: 'both' | 'outgoing' | 'incoming'; types?: readonly EdgeType[]; limit: number },
  ): Promise<Edge[]>
}

// ─── embeddings and the feed ─────────────────────────────────────────────────────────────────────────────────────────

/** One complete set of vectors made by one embedder. */
export interface Generation {
  number: number
  embedder: string
  /** Length of the stored vectors: the embedder's effective dimensions. */
  dimensions: number
  state: 'active' | 'building'
}

/** Tells which vectors there are. */
export interface EmbeddingReader {
  /** The generation that is searched, or null before the first. */
  active(): Promise<Generation | null>
  /** The generation that is being filled, or null. */
  building(): Promise<Generation | null>
}

/** Keeps vectors, generation by generation. */
export interface EmbeddingWriter extends EmbeddingReader {
  /** Opens a generation in state `building`, dropping an unfinished one. The first ever is active at once. */
  start(embedder: string, dimensions: number): Promise<Generation>
  /**
   * Keeps the vectors of a decision in every generation of that embedder.
   * @throws StorageError `invalid` when a vector has another length than the generation, `not_found` without the decision
   */
  put(id: string, embedder: string, vectors: VectorSet): Promise<void>
  /** Drops the vectors of a decision whose text changed, in all generations. */
  drop(id: string): Promise<void>
  /** Makes the building generation the active one and deletes the other. */
  activate(number: number): Promise<void>
}

/** A change that derived indexes follow: the newest state of one decision. */
export interface FeedEntry {
  seq: number
  id: string
  /** Null when the decision is gone. */
  fields: DecisionFields | null
  /** Null when it has none in that generation. */
  vectors: VectorSet | null
}

/**
 * The changes to decisions in the order in which they were committed. Each decision stands once, at its latest change.
 * Derived indexes read what is new to them here; that is how a second process sees a decision at its next query.
 */
export interface Feed {
  /** Newest change and active generation (0 where none). Cheap: it is asked before each search. */
  head(): Promise<{ seq: number; generation: number }>
  /** Entries with `seq` above `after`, ascending. Vectors are those of `generation`. */
  since(after: number, generation: number, limit: number): Promise<FeedEntry[]>
}

/** A decision whose vectors are still to be made. At most one entry a decision. */
export interface OutboxEntry {
  id: string
  attempts: number
  /** Changes with every claim; `done` and `retry` of an older claim do nothing. */
  claim: string
}

/** Tells how many decisions wait for their vectors. */
export interface OutboxReader {
  /** How many wait. */
  depth(): Promise<number>
}

/** The queue of decisions that wait for their vectors. */
export interface OutboxWriter {
  /** Adds a decision that has no vectors yet; one that waits already stays as it is. */
  add(id: string, now_ms: number): Promise<void>
  /** Takes up to `limit` due entries for `lease_ms`: until then nobody else gets them. An owner that dies leaves them to others. */
  claim(limit: number, lease_ms: number, now_ms: number): Promise<OutboxEntry[]>
  /** Takes an entry out: its vectors are kept. */
  done(entry: OutboxEntry): Promise<void>
  /** Gives an entry back, due again at `next_ms`. */
  retry(entry: OutboxEntry, next_ms: number, error: string): Promise<void>
}

// ─── deliberation sessions ───────────────────────────────────────────────────────────────────────────────────────────

/** Something that an agent asked, checked or thought. */
export interface SessionInput {
  id: string
  type: string
  text: string
  source: string
  /** RFC 3339, UTC. */
  timestamp: string
  /** Free-form JSON of the call that left it, such as the best hits of a query. */
  data: unknown
}

/** What an agent has gathered for its next decision. */
export interface Session {
  key: string
  agent: string
  inputs: SessionInput[]
  /** Inputs that were dropped, oldest first, because the session was full. */
  dropped: number
  created_ms: number
  updated_ms: number
}

/** A session that ended in a decision. */
export interface ConsumedSession {
  key: string
  agent: string
  decision_id: string
  input_count: number
  consumed_ms: number
}

/** Reads sessions. */
export interface SessionReader {
  /** The session of this key, or null. */
  get(key: string): Promise<Session | null>
  /** Sessions touched at or after `since_ms`, newest first; of one agent where named. */
  list(query: { agent?: string; since_ms: number; limit: number }): Promise<Session[]>
  /** The last consumed sessions, newest first. */
  consumed(query: { agent?: string; limit: number }): Promise<ConsumedSession[]>
}

/** Adds to sessions, and ends them. */
export interface SessionWriter {
  /** The session of this key as the transaction sees it, or null. */
  get(key: string): Promise<Session | null>
  /** Adds inputs, starting the session where there is none; keeps the newest `keep` and counts the rest as dropped. */
  append(key: string, agent: string, inputs: readonly SessionInput[], keep: number, now_ms: number): Promise<void>
  /** Ends the session and returns what it held, or null. Exactly one transaction gets it. */
  consume(key: string, decision_id: string, now_ms: number): Promise<Session | null>
  /** Ends sessions not touched since `before_ms`; returns how many. */
  expire(before_ms: number): Promise<number>
}

// ─── circuit breakers ────────────────────────────────────────────────────────────────────────────────────────────────

/** State of one circuit breaker. */
export interface Breaker {
  scope: string
  state: 'closed' | 'open' | 'half_open'
  /** Times of the reviews that still count, ascending, milliseconds since 1970. */
  reviews_ms: number[]
  /** Those of them that were failures. */
  failures_ms: number[]
  opened_ms: number | null
  probe_decision_id: string | null
  probe_started_ms: number | null
}

/** Reads circuit breakers. */
export interface BreakerReader {
  /** The breaker of this scope, or null. */
  get(scope: string): Promise<Breaker | null>
  /** By scope. */
  list(): Promise<Breaker[]>
}

/** Writes circuit breakers. */
export interface BreakerWriter extends BreakerReader {
  /** Replaces the state of its scope. */
  put(breaker: Breaker): Promise<void>
}

// ─── logins ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A person who is logged in at the dashboard. */
export interface Login {
  /** SHA-256 of the session's id, lowercase hex; the id itself is kept nowhere. */
  id_hash: string
  agent: string
  /** Ties the login to the token that it was made with, lowercase hex. */
  seal: string
  used_ms: number
  /** When it ends, however much it is used. */
  expires_ms: number
}

/** Logins of people at the dashboard, by the hash of their id. */
export interface LoginReader {
  /** The login as it was put, expired or not; null where there is none. */
  get(id_hash: string): Promise<Login | null>
}

/** Logins inside a transaction. */
export interface LoginWriter extends LoginReader {
  /** Adds a login, or replaces the one of the same id. */
  put(login: Login): Promise<void>
  /** Ends a login; one that is not there is ended already. */
  delete(id_hash: string): Promise<void>
  /** Drops those that expired at `now_ms` or before, and those not used since `unused_ms`; returns how many. */
  expire(now_ms: number, unused_ms: number): Promise<number>
}

// ─── audit ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One line of the trail: a write, or an evaluation of guardrails. */
export interface AuditEntry {
  /** RFC 3339, UTC. */
  at: string
  agent: string
  method: string
  request_id: string
  /** Ids of the decisions concerned. */
  ids: string[]
  /** Null where nothing was evaluated. */
  allowed: boolean | null
  /** Ids of the rules that fired. */
  rules: string[]
  /** Free-form JSON: digest, input with secrets redacted, verdict, policy hash, duration. */
  detail: unknown
}

/** A line of the trail with its place. */
export interface StoredAuditEntry extends AuditEntry {
  /** Ascending in the order of commits. */
  seq: number
}

/** Reads the trail. */
export interface AuditReader {
  /** Newest first, below `cursor` where given. */
  list(query: {
    since_ms?: number
    agent?: string
    method?: string
    rule?: string
    allowed?: boolean
    cursor?: number
    limit: number
  }): Promise<StoredAuditEntry[]>
}

/** The trail is append-only: no verb changes or removes a line. */
export interface AuditWriter {
  /** Adds a line at the end. */
  append(entry: AuditEntry): Promise<void>
}

// ─── idempotency ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a call with an idempotency key answered. */
export interface IdempotentResult {
  /** SHA-256 of the canonical parameters, lowercase hex. */
  digest: string
  /** The result as JSON. */
  result: unknown
}

/** Results by agent and key. */
export interface Idempotency {
  /** What this agent's key stands for, or null; expired keys are absent. */
  get(agent: string, key: string, now_ms: number): Promise<IdempotentResult | null>
  /** Keeps a result until the key expires. */
  put(agent: string, key: string, value: IdempotentResult, expires_ms: number): Promise<void>
}
