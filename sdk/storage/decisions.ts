/** Decisions of the store port: the fields for filtering, sorting and counting, and the methods that read and write decisions. */
import { completeRecord, laterFields } from '../schema/complete.ts'
import type { DecisionRecord, Outcome, Settler, Stakes, Status } from '../schema/decision.ts'
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

/** The values that decisions are grouped by. Null groups those without a value. */
export interface GroupValues {
  category: string | null
  stakes: Stakes
  status: Status
  outcome: Outcome | null
  settled_by: Settler | null
  /** The confidence that is scored. */
  confidence_at_record: number | null
  agent: string
  project: string | null
  /** Day of `created_at`, UTC: `yyyy-mm-dd`. */
  day: string
  /** Day of `reviewed_at`, UTC; null without a review. */
  reviewed_day: string | null
  /** A decision counts once for each of its distinct tags; one without tags is in no group. */
  tag: string
  /**
   * The agent with the pull request whose evidence settled the outcome, `agent project#pr`, if it settled several of the decisions that pass;
   * else null. Decisions with the same one have one result.
   */
  result: string | null
  /** The type of a reason. A decision counts once for each type among its reasons; one without reasons is in no group. */
  reason: string
}

/** What decisions are grouped by. */
export type GroupKey = keyof GroupValues

/** The reasons of one type in the decisions of a group. */
export interface ReasonSums {
  /** Number of reasons; a decision may give several of one type. */
  uses: number
  /** Sum of their strengths. */
  strength: number
}

/** Number of decisions with the same values; with the sums of their reasons, if they are grouped by `reason`. */
export type DecisionGroup<K extends GroupKey> = Pick<GroupValues, K> & { count: number } & ('reason' extends K
    ? ReasonSums
    : unknown)

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
 * Parses the record of a text. Fields that an earlier version did not write have their defaults.
 * @example
 * ```ts
 * const { decision, reasons } = parseRecord(text)
 * ```
 */
export function parseRecord({ json }: Pick<RecordText, 'json'>): DecisionRecord {
  const record: DecisionRecord = JSON.parse(json)
  completeRecord(record)
  return record
}

/**
 * The record of a text as JSON, complete as that of `parseRecord`.
 * @param later fields that texts of earlier versions may lack
 * @example
 * ```ts
 * response.write(completeJson(text))
 * ```
 */
export function completeJson({ json }: Pick<RecordText, 'json'>, later = laterFields): string {
  if (later.every((name) => json.includes(`"${name}":`))) return json
  const record: DecisionRecord = JSON.parse(json)
  return completeRecord(record) ? JSON.stringify(record) : json
}

/**
 * The record exactly as it was written, for digests: fields that an earlier version did not write are absent.
 * @example
 * ```ts
 * const digest = sha256(canonical(writtenRecord(text)))
 * ```
 */
export const writtenRecord = ({ json }: Pick<RecordText, 'json'>): DecisionRecord => JSON.parse(json)

/**
 * A stored decision with its record parsed.
 * @example
 * ```ts
 * const [{ record, revision }] = (await store.decisions.get([id])).map(storedOf)
 * ```
 */
export const storedOf = (text: StoredText): StoredDecision => ({
  record: parseRecord(text),
  revision: text.revision,
  indexed: text.indexed,
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
  /**
   * The decisions that pass the filter, counted by the values of `by`, in no particular order. Only groups that exist: without keys one group
   * with the number of all that pass, or none. See `groups.ts` for the questions that are asked with it.
   */
  groups<K extends GroupKey>(filter: CountFilter, by: readonly K[]): Promise<DecisionGroup<K>[]>
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
   * As `groups` of the reader, over what was committed before this transaction: no other transaction that counts commits until this one has.
   * Call it before the transaction's own writes.
   */
  groups: DecisionReader['groups']

  /**
   * Writes a decision: document, filter fields, terms and the edges of its `links`.
   * @param replaces the revision to replace, 0 for a new decision
   * @param revision the new revision; by default the next. A decision that comes from another store keeps the revision that it had there.
   * @throws StorageError `conflict` if another revision is stored or the source key is taken, `not_found` if there is none to replace
   */
  put(record: DecisionRecord, replaces: number, revision?: number): Promise<void>
}
