/** Decisions of the store port: what filters, sorts and counts see of them, and the verbs that read and write them. */
import type { DecisionRecord, Outcome, Settler, Stakes, Status } from '../schema/decision.ts'

/** What a filter sees of a decision. */
export interface DecisionFields {
  id: string
  /** Null if the agent named none. */
  category: string | null
  confidence: number | null
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
  /** `reviewed_at` in milliseconds since 1970, UTC: that of the review that counts. */
  reviewed_ms: number | null
  /** The confidence that is scored. */
  confidence_at_record: number | null
  /** Who settled the outcome; null while there is none. */
  settled_by: Settler | null
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

/** Texts that other decisions can hold in another spelling. */
export const spelledFields = ['category', 'project', 'feature', 'tag'] as const

/** The filter of a list. */
export interface ListFilter extends DecisionFilter {
  /** Those alone that enter a score (`scoredValue`). */
  scored?: true
}

/** The filter of a count: it can also compare texts as they look, so that no other spelling is left out. */
export interface CountFilter extends ListFilter {
  /** Values whose `skeleton` is this one; a tag is any of the decision's. */
  alike?: Partial<Record<(typeof spelledFields)[number], string>>
}

/** What a list of decisions is sorted by. */
export type DecisionSort = 'created_at' | 'confidence' | 'category' | 'stakes' | 'status'

/** What decisions are counted by. */
export type CountKey = 'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'day' | 'tag' | 'project'

/** Decisions of one confidence at recording, one outcome and one settler. */
export interface OutcomeGroup {
  confidence: number | null
  outcome: Outcome | null
  settled_by: Settler | null
  count: number
  /** Only if they are split by category. */
  category?: string
  /** Only if they are split by time: the edges at the time of recording or before. */
  created?: number
  /** The same for the time of the review that counts. */
  reviewed?: number
}

/** When decisions were recorded and reviewed: milliseconds since 1970, ascending, each once. */
export interface OutcomeEdges {
  created_ms: readonly number[]
  reviewed_ms: readonly number[]
}

/** How outcomes are split: by category, without decisions that have none; or by time, without decisions that nobody reviewed. */
export type OutcomeSplit = 'category' | OutcomeEdges

/** The scored decisions of one agent, category (null if they have none) and stakes: how many, and the sums of their confidences at recording and of their values. */
export interface ScoreSum {
  agent: string
  category: string | null
  stakes: Stakes
  count: number
  confidence: number
  value: number
}

/** Reviewed decisions of one confidence and outcome that give a reason of this type; without those that no score counts. */
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

/** What a store says of a decision beside its record. */
interface StoredFacts {
  /** Counts the writes to this decision, from 1. */
  readonly revision: number
  /** True when the active generation holds its vectors. */
  readonly indexed: boolean
}

/** A decision as it is stored. */
export interface StoredDecision extends StoredFacts {
  readonly record: DecisionRecord
}

/**
 * A record that need not be parsed. A driver may give the same object again for as long as it keeps the text, so that callers can keep
 * with it what they made of it.
 */
export interface RecordText {
  readonly id: string
  readonly json: string
  /** Who recorded it. */
  readonly agent: string
  /** Milliseconds since 1970. */
  readonly created_ms: number
}

/** A stored decision whose record need not be parsed. */
export interface StoredText extends RecordText, StoredFacts {}

/**
 * The record of a text.
 * @example
 * ```ts
 * const { decision, reasons } = parseRecord(text)
 * ```
 */
export const parseRecord = ({ json }: Pick<RecordText, 'json'>): DecisionRecord => JSON.parse(json)

/**
 * A stored decision with its record.
 * @example
 * ```ts
 * const [{ record, revision }] = (await store.decisions.get([id])).map(storedOf)
 * ```
 */
export const storedOf = ({ json, revision, indexed }: StoredText): StoredDecision => ({
  record: JSON.parse(json),
  revision,
  indexed,
})

/** Reads decisions. */
export interface DecisionReader {
  /** Those of these full ids that exist, in the order asked for. */
  get(ids: readonly string[]): Promise<StoredText[]>
  /**
   * Ids that start with `prefix`, or whose part after `-decision-` does, at most `limit`, ascending; or that of the decision imported
   * under a key, if there is one.
   */
  find(query: { prefix: string; limit: number } | { source_key: string }): Promise<string[]>
  /** Page of the decisions that pass. Stakes sort by rank; ties by id in the same direction. `total` counts all that pass. */
  list(query: {
    filter: ListFilter
    /** Keep only these decisions. */
    ids?: readonly string[]
    sort: DecisionSort
    order: 'asc' | 'desc'
    offset: number
    limit: number
  }): Promise<{ texts: RecordText[]; total: number }>
  /**
   * Fields of the decisions that pass, oldest first, ties by id: at most `limit` of those that come after `after` in this order,
   * whether or not that one still passes. For walks that must not hold memory, over decisions that enter and leave meanwhile.
   */
  walk(filter: DecisionFilter, after: DecisionFields | null, limit: number): Promise<DecisionFields[]>
  /** How many pass the filter. */
  count(filter: CountFilter): Promise<number>
  /** How many pass, split by the values of `by`. Descending count, then value; `day` ascending. Null values are left out. */
  countBy(filter: DecisionFilter, by: CountKey): Promise<{ value: string; count: number }[]>
  /**
   * The decisions that pass, grouped by what is scored: the confidence at recording, the outcome and who settled it; and by what they are
   * split by, if by anything. By category, then confidence, outcome and settler, null first in each; then by `created`, then by `reviewed`.
   */
  outcomes(filter: CountFilter, split?: OutcomeSplit): Promise<OutcomeGroup[]>
  /** The decisions that pass and enter a score (`scoredValue`), in no order. */
  scores(filter: DecisionFilter): Promise<ScoreSum[]>
  /** Scored decisions and abandoned ones by the types of their reasons. By type, confidence, outcome. */
  reasons(): Promise<ReasonGroup[]>
}

/**
 * The decisions of these full ids that exist, in the order asked for, with their records.
 * @example
 * ```ts
 * const [one, other] = await readDecisions(store.decisions, ids)
 * ```
 */
export const readDecisions = async (
  decisions: Pick<DecisionReader, 'get'>,
  ids: readonly string[],
): Promise<StoredDecision[]> => (await decisions.get(ids)).map(storedOf)

/**
 * The decision of this full id, or null.
 * @example
 * ```ts
 * const found = await readDecision(store.decisions, id)
 * found?.record.outcome
 * ```
 */
export const readDecision = async (
  decisions: Pick<DecisionReader, 'get'>,
  id: string,
): Promise<StoredDecision | null> => (await readDecisions(decisions, [id]))[0] ?? null

/**
 * The fields of all decisions that pass, oldest first, a page at a time.
 * @example
 * ```ts
 * for await (const page of decisionPages(store.decisions, { stakes: 'critical' }, 500)) take(page)
 * ```
 */
export async function* decisionPages(
  decisions: Pick<DecisionReader, 'walk'>,
  filter: DecisionFilter,
  limit: number,
): AsyncGenerator<DecisionFields[]> {
  for (let after: DecisionFields | null = null; ; ) {
    const page: DecisionFields[] = await decisions.walk(filter, after, limit)
    if (page.length > 0) yield page
    if (page.length < limit) return
    after = page.at(-1)!
  }
}

/** Decisions inside a transaction. */
export interface DecisionWriter extends Pick<DecisionReader, 'get'> {
  /** As the reader's, for the decision imported under a key. */
  find(query: { source_key: string }): Promise<string[]>
  /**
   * As the reader's `count` and `outcomes`, over what was committed before this transaction: no other transaction that counts commits
   * until this one did. Call them before the transaction's own writes.
   */
  count: DecisionReader['count']
  /** See `count`. */
  outcomes(filter: CountFilter): Promise<OutcomeGroup[]>

  /**
   * Writes a decision: document, filter fields, terms and the edges of its `links`.
   * @param replaces the revision that it replaces, 0 for a new decision
   * @param revision the one that it gets; by default the next. A decision that comes from another store keeps the one that it had there.
   * @throws StorageError `conflict` when another revision is stored or the source key is taken, `not_found` when there is none to replace
   */
  put(record: DecisionRecord, replaces: number, revision?: number): Promise<void>
  /**
   * Forgets a decision for good: document, terms, vectors, the edges from it, its place in the outbox, and the file where a driver keeps
   * one. The feed tells that it is gone. Only the id may stay with the driver; edges of others that lead to it stay too.
   * @param revision as read; null for any, also for a decision that is kept out of every answer because its file was taken away
   * @throws StorageError `conflict` when the stored revision is not `revision`, `not_found` when there is none
   */
  erase(id: string, revision: number | null): Promise<void>
}
