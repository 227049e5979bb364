/** Decisions of the store port: the fields for filtering, sorting and counting, and the methods that read and write decisions. */
import type { DecisionRecord, Outcome, Settler, Stakes } from '../schema/decision.ts'
import type { DecisionFields, DecisionFilter, DecisionSort } from '../schema/decision-fields.ts'

export type { DecisionFields, DecisionFilter, DecisionSort } from '../schema/decision-fields.ts'

/** Fields whose values may be spelled differently in other decisions. */
export const spelledFields = ['category', 'project', 'feature', 'tag'] as const

/** The filter of a list. */
export interface ListFilter extends DecisionFilter {
  /** Only decisions that enter a score (`scoredValue`). */
  scored?: true
}

/** The filter of a count. It can also compare texts by appearance, so that other spellings are included. */
export interface CountFilter extends ListFilter {
  /** Values whose `skeleton` equals this one; for `tag`, any tag of the decision. */
  alike?: Partial<Record<(typeof spelledFields)[number], string>>
}

/** What decisions are counted by. */
export type CountKey = 'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'day' | 'tag' | 'project'

/** Number of decisions with the same confidence at recording, outcome and settler. */
export interface OutcomeGroup {
  confidence: number | null
  outcome: Outcome | null
  settled_by: Settler | null
  count: number
  /** Present only when split by category. */
  category?: string
  /** Present only when split by time: the number of `created_ms` edges at or before the time of recording. */
  created?: number
  /** Likewise, for the time of the review that counts. */
  reviewed?: number
}

/** Edges of the time ranges in which decisions were recorded and reviewed: milliseconds since 1970, ascending, distinct. */
export interface OutcomeEdges {
  created_ms: readonly number[]
  reviewed_ms: readonly number[]
}

/** How outcomes are split: by category, without decisions that have none; or by time, without unreviewed decisions. */
export type OutcomeSplit = 'category' | OutcomeEdges

/**
 * The scored decisions of one agent, category (null if they have none) and stakes: their number, and the sums of their confidences at
 * recording and of their outcome values.
 */
export interface ScoreSum {
  agent: string
  category: string | null
  stakes: Stakes
  count: number
  confidence: number
  value: number
}

/**
 * Reviewed decisions of one confidence and outcome that give a reason of this type. Decisions whose outcome was settled by age alone are
 * left out.
 */
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

/** What a store knows about a decision besides its record. */
interface StoredFacts {
  /** Number of writes to this decision, from 1. */
  readonly revision: number
  /** True if the active generation has vectors for it. */
  readonly indexed: boolean
}

/** A stored decision. */
export interface StoredDecision extends StoredFacts {
  readonly record: DecisionRecord
}

/**
 * A record as JSON text, which need not be parsed. While a driver keeps the text it may return the same object again, so callers can cache
 * what they derive from it per object.
 */
export interface RecordText {
  readonly id: string
  readonly json: string
  /** Who recorded it. */
  readonly agent: string
  /** Milliseconds since 1970. */
  readonly created_ms: number
}

/** A stored decision with its record as JSON text. */
export interface StoredText extends RecordText, StoredFacts {}

/**
 * Parses the record of a text.
 * @example
 * ```ts
 * const { decision, reasons } = parseRecord(text)
 * ```
 */
export const parseRecord = ({ json }: Pick<RecordText, 'json'>): DecisionRecord => JSON.parse(json)

/**
 * A stored decision with its record parsed.
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
  /** The decisions with these full ids that exist, in the order of `ids`. */
  get(ids: readonly string[]): Promise<StoredText[]>
  /**
   * Ids that start with `prefix`, or whose part after `-decision-` starts with it: at most `limit`, ascending. Or the id of the decision
   * imported under a source key, if there is one.
   */
  find(query: { prefix: string; limit: number } | { source_key: string }): Promise<string[]>
  /** A page of the decisions that pass the filter. Stakes sort by rank; ties by id in the same direction. `total` counts all that pass. */
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
   * Fields of the decisions that pass the filter, oldest first, ties by id: at most `limit` that come after `after` in this order, whether
   * or not `after` itself still passes. For walks in bounded memory, over decisions that may start or stop matching in the meantime.
   */
  walk(filter: DecisionFilter, after: DecisionFields | null, limit: number): Promise<DecisionFields[]>
  /** The number of decisions that pass the filter. */
  count(filter: CountFilter): Promise<number>
  /**
   * The number of decisions that pass the filter, for each value of `by`. Descending count, then value; `day` ascending. Null values are
   * left out.
   */
  countBy(filter: DecisionFilter, by: CountKey): Promise<{ value: string; count: number }[]>
  /**
   * The decisions that pass the filter, grouped by what is scored (confidence at recording, outcome and settler) and by `split`, if given.
   * Ordered by category, then confidence, outcome and settler, null first in each; then by `created`, then by `reviewed`.
   */
  outcomes(filter: CountFilter, split?: OutcomeSplit): Promise<OutcomeGroup[]>
  /** The decisions that pass the filter and enter a score (`scoredValue`), in no particular order. */
  scores(filter: DecisionFilter): Promise<ScoreSum[]>
  /** Scored and abandoned decisions by the types of their reasons. Ordered by type, confidence, outcome. */
  reasons(): Promise<ReasonGroup[]>
}

/**
 * The decisions with these full ids that exist, in the order of `ids`, with their records parsed.
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
 * The decision with this full id, or null.
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
 * The fields of all decisions that pass the filter, oldest first, in pages of `limit`.
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
  /** As `find` of the reader, by source key only. */
  find(query: { source_key: string }): Promise<string[]>
  /**
   * As `count` of the reader, over what was committed before this transaction: no other transaction that counts commits until this one has.
   * Call it before the transaction's own writes.
   */
  count: DecisionReader['count']
  /** As `outcomes` of the reader; see `count`. */
  outcomes(filter: CountFilter): Promise<OutcomeGroup[]>

  /**
   * Writes a decision: document, filter fields, terms and the edges of its `links`.
   * @param replaces the revision to replace, 0 for a new decision
   * @param revision the new revision; by default the next. A decision that comes from another store keeps the revision that it had there.
   * @throws StorageError `conflict` if another revision is stored or the source key is taken, `not_found` if there is none to replace
   */
  put(record: DecisionRecord, replaces: number, revision?: number): Promise<void>
  /**
   * Erases a decision permanently: document, terms, vectors, the edges from it, its outbox entry, and its file if the driver keeps one. The
   * feed reports it as gone. The driver may keep only the id; edges from other decisions to it stay.
   * @param revision as read; null for any, and also for a decision that is hidden because its file was removed
   * @throws StorageError `conflict` if the stored revision is not `revision`, `not_found` if there is no such decision
   */
  erase(id: string, revision: number | null): Promise<void>
}
