/** The life of a decision record: made, committed, scored by its quality. Values in, values out. */

import { invalidParams } from '../../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { RecordParams } from '../../../../sdk/schema/record.ts'
import { recordText } from '../../../core/canonical.ts'
import { plainText } from '../../../core/quote.ts'
import { dayMs, timestamp } from '../../../core/time.ts'
import { extractBridge } from './bridge.ts'

/** When a decision was recorded here. */
export const recordedAt = ({ recorded_at, created_at }: DecisionRecord): string => recorded_at ?? created_at

/**
 * The record with the time of its commit. Nobody can read it before, however long its vectors took, so no answer as of an earlier time has
 * it. The id keeps the day on which it was made.
 */
export function committedAt(record: DecisionRecord, now_ms: number): DecisionRecord {
  const at = timestamp(now_ms)
  if (record.updated_at === at) return record
  if (record.recorded_at !== undefined) return { ...record, recorded_at: at, updated_at: at }
  const days = { date: at.slice(0, 10), review_by: reviewDay(now_ms, record.review_in) }
  return { ...record, ...days, created_at: at, updated_at: at }
}

const titleLength = 120

/** The decision text on one line, cut between words to at most 120 characters. */
export function titleOf(decision: string): string {
  const line = plainText(decision)
  if (line.length <= titleLength) return line
  const space = line.lastIndexOf(' ', titleLength)
  if (space > titleLength / 2) return line.slice(0, space)
  const cut = line.slice(0, titleLength)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** The day (UTC) that is `review_in` after `from_ms`. */
export function reviewDay(from_ms: number, review_in: string): string {
  const count = Number(review_in.slice(0, -1))
  const date = new Date(from_ms)
  const unit = review_in.at(-1)
  if (unit === 'm') {
    const day = date.getUTCDate()
    date.setUTCMonth(date.getUTCMonth() + count)
    // One month after 31 January is the last day of February, not 3 March.
    if (date.getUTCDate() !== day) date.setUTCDate(0)
  } else date.setTime(from_ms + count * (unit === 'h' ? dayMs / 24 : unit === 'd' ? dayMs : 7 * dayMs))
  return date.toISOString().slice(0, 10)
}

/** The fields of a new decision that the caller gives; everything else is derived or empty. */
export type Draft = Pick<
  DecisionRecord,
  | Exclude<keyof DecisionRecord & keyof RecordParams, 'created_at' | 'bridge' | 'confidence_at_record'>
  | 'imported_by'
  | 'source'
  | 'recorded_at'
> & {
  bridge: DecisionRecord['bridge'] | null
  /** If it is not the confidence: of an import. */
  confidence_at_record?: number | null | undefined
}

/** For a decision recorded here the service knows what came before it; for an import only what its source says is known. */
const protocolOf = ({ imported_by, pre_decision_protocol: protocol }: Draft): Pick<Draft, 'pre_decision_protocol'> => ({
  pre_decision_protocol: imported_by !== null ? protocol : { query_run: false, guardrails_checked: false, ...protocol },
})

/**
 * Makes a pending record from a draft.
 * @param id_suffix 12 hexadecimal digits, random
 * @param noted the fields that the agent's session fills
 */
export function newRecord(
  draft: Draft,
  created_ms: number,
  now_ms: number,
  id_suffix: string,
  noted: Pick<DecisionRecord, 'deliberation' | 'pre_decision_protocol'> | null = null,
): DecisionRecord {
  const [created_at, updated_at] = [timestamp(created_ms), timestamp(now_ms)]
  const date = created_at.slice(0, 10)
  const id = `${date}-decision-${id_suffix}`
  const given = { ...draft, ...protocolOf(draft), ...noted }
  const bridge_method = draft.bridge ? ('given' as const) : ('rule' as const)
  return {
    id,
    title: titleOf(draft.decision),
    ...given,
    status: 'pending',
    outcome: null,
    date,
    review_by: reviewDay(created_ms, draft.review_in),
    bridge: draft.bridge ?? extractBridge(draft),
    bridge_method,
    quality: quality({ ...given, bridge_method }),
    related_to: [],
    links: [],
    verdict: null,
    created_at,
    updated_at,
    actual_result: null,
    lessons: null,
    review_notes: null,
    reviewed_at: null,
    reviewed_by: null,
    self_reviewed: null,
    confidence_at_record: draft.confidence_at_record === undefined ? draft.confidence : draft.confidence_at_record,
    confidence_at_review: null,
    review_history: [],
    breaker_scopes: scopesOfRecord(draft),
    revision_count: 0,
    preserve: false,
    auto_attributed: false,
    attribution_basis: null,
    attribution_reason: null,
  }
}

/** A record of a hook whose confidence nobody stated in time yet. */
export const isUnadopted = ({ source, confidence_at_record, status }: DecisionRecord): boolean =>
  source === 'hook' && confidence_at_record === null && status === 'pending'

/** The record with a thought as the last step of its deliberation. */
export function withThought(record: DecisionRecord, thought: string, agent: string, at: string) {
  const { inputs, steps, ...marks } = record.deliberation ?? { inputs: [], steps: [] }
  const step = steps.reduce((last, one) => Math.max(last, one.step), 0) + 1
  const deliberation = {
    inputs,
    steps: [...steps, { step, type: 'reasoning', thought, timestamp: at, agent }],
    ...marks,
  }
  const next = { ...record, deliberation, updated_at: at }
  return { record: { ...next, quality: quality(next) }, step }
}

/** Largest record, in bytes of JSON. */
const maxRecordBytes = 256 * 1_024

/** The record, if it is not too large to be stored. @throws CstpError `invalid_params` naming the limit */
export function requireSize(record: DecisionRecord): DecisionRecord {
  const bytes = Buffer.byteLength(recordText(record))
  if (bytes <= maxRecordBytes) return record
  const expected = `at most ${maxRecordBytes} bytes (256 KiB) of JSON for the whole decision`
  throw invalidParams({ path: '', message: `expected ${expected}, received ${bytes}`, expected, received: `${bytes}` })
}

/** Most bytes of links and non-counting reviews that other agents may add to a decision; the rest is left to its recorder. */
const maxForeignBytes = 64 * 1_024

/** Like {@link requireSize}, after this agent added to the record. @throws CstpError `invalid_params` also if other agents have added too much */
export function requireRoom(record: DecisionRecord, agent: string): DecisionRecord {
  const { recorded_by, links, review_history } = record
  if (agent !== recorded_by) {
    const foreign = [
      ...links.filter(({ created_by }) => created_by !== recorded_by),
      ...review_history.filter(({ reviewed_by, counts }) => reviewed_by !== recorded_by && !counts),
    ]
    if (Buffer.byteLength(JSON.stringify(foreign)) > maxForeignBytes) {
      const expected = `at most ${maxForeignBytes} bytes (64 KiB) of links and further reviews by others than its recorder`
      throw invalidParams({ path: '', message: `expected ${expected}`, expected, received: 'more' })
    }
  }
  return requireSize(record)
}

/** Path of a record's file, relative to the data directory. */
export const pathOf = (id: string): string => `decisions/${id.slice(0, 4)}/${id.slice(5, 7)}/${id}.yaml`

// Quality of a record: how much of what makes a decision useful later was written down.

type QualityInput = Pick<
  DecisionRecord,
  | 'pattern'
  | 'tags'
  | 'reasons'
  | 'bridge_method'
  | 'decision'
  | 'context'
  | 'project'
  | 'deliberation'
  | 'pre_decision_protocol'
  | 'reasoning_trace'
>

// Callers are asked only for what they can supply: a field of the tools log_decision or update_decision, or something that another tool leaves.
const parts: { weight: number; has(record: QualityInput): boolean; missing: string }[] = [
  {
    weight: 15,
    has: ({ pattern }) => Boolean(pattern?.trim()),
    missing: 'State the pattern: the abstract principle behind the decision.',
  },
  { weight: 15, has: ({ tags }) => tags.length > 0, missing: 'Add tags.' },
  {
    weight: 15,
    has: ({ reasons }) => new Set(reasons.map(({ type }) => type)).size >= 2,
    missing: 'Give reasons of at least two types.',
  },
  {
    weight: 10,
    has: ({ bridge_method }) => bridge_method === 'given',
    missing: 'Add a bridge with an update: what the decision looks like and what it is for.',
  },
  {
    weight: 10,
    has: ({ decision }) => decision.trim().length > 20,
    missing: 'Say the decision in more than 20 characters.',
  },
  { weight: 10, has: ({ context }) => (context?.trim().length ?? 0) > 10, missing: 'Describe the context.' },
  { weight: 10, has: ({ project }) => project !== null, missing: 'Name the project.' },
  {
    weight: 5,
    has: ({ deliberation, pre_decision_protocol: protocol }) =>
      (deliberation !== null && deliberation.inputs.length + deliberation.steps.length > 0) ||
      (protocol !== null && (protocol.query_run || protocol.guardrails_checked)),
    missing: 'Query precedents and check guardrails before deciding.',
  },
  {
    weight: 10,
    has: ({ reasoning_trace, deliberation }) => reasoning_trace.length + (deliberation?.steps.length ?? 0) > 0,
    missing: 'Record the steps of the reasoning: as thoughts, or as the reasoning trace.',
  },
]

/** Score from 0 to 1 and what would raise it. */
export function quality(record: QualityInput): DecisionRecord['quality'] {
  const score = parts.reduce((sum, part) => sum + (part.has(record) ? part.weight : 0), 0)
  return { score: score / 100, suggestions: parts.filter((part) => !part.has(record)).map(({ missing }) => missing) }
}

// The scopes of circuit breakers that a decision or an action belongs to. A decision keeps its scopes, for its review.

/** The properties of a decision or an action that select its breakers. */
export interface BreakerSubject {
  /** Null if there is none, which counts as {@link withoutCategory}. */
  category: string | null
  stakes: string
  /** The authenticated agent: the identity that a caller claims affects no breaker. */
  agent: string
  tags: readonly string[]
  project: string | null
}

/** The category of subjects without one, in scopes. */
const withoutCategory = 'uncategorized'

/** Scopes of all breakers that could watch the subject. */
export const breakerScopes = ({ category, stakes, agent, tags, project }: BreakerSubject): string[] => [
  'global',
  `category:${category ?? withoutCategory}`,
  `stakes:${stakes}`,
  `agent:${agent}`,
  ...tags.map((tag) => `tag:${tag}`),
  ...(project === null ? [] : [`project:${project}`]),
]

/** Those of a record. An update adds to them and takes none away: what is named later counts, and what was named first still does. */
export const scopesOfRecord = (
  record: Pick<DecisionRecord, 'category' | 'stakes' | 'tags' | 'project' | 'recorded_by'>,
) => breakerScopes({ ...record, agent: record.recorded_by, project: record.project?.name ?? null })
