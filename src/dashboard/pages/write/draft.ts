/** The draft of a decision: as form fields, as parameters of the service, and as stored in this tab. */
import { useRef, useState } from 'preact/hooks'
import type { GetDecisionResult, RecordDecisionParams, Stakes, UpdateDecisionParams } from '../../../../sdk/client.ts'
import { invalidParams } from '../../../../sdk/errors.ts'
import { texts } from '../../texts.ts'
import { keyHere } from '../../workspace.ts'

const t = texts.write

export const emptyDraft = {
  decision: '',
  context: '',
  category: '',
  stakes: 'medium' as Stakes,
  /** In per cent, as typed. */
  confidence: '',
  reasons: [] as { type: string; text: string; strength: string }[],
  alternatives: [] as { option: string; reason: string }[],
  /** Separated by commas. */
  tags: '',
  pattern: '',
  project: '',
  feature: '',
  pr: '',
  review_in: '7d',
  /** JSON. */
  facts: '',
  structure: '',
  function: '',
}
export type Draft = typeof emptyDraft

const inPercent = (share: number | null): string => (share === null ? '' : String(Math.round(share * 1_000) / 10))

/** A recorded decision in the fields. */
export const draftOf = (one: GetDecisionResult): Draft => ({
  ...emptyDraft,
  decision: one.decision,
  context: one.context ?? '',
  category: one.category ?? '',
  stakes: one.stakes,
  confidence: inPercent(one.confidence),
  reasons: one.reasons.map(({ type, text, strength }) => ({ type, text, strength: inPercent(strength) })),
  alternatives: one.alternatives_considered.map((other) =>
    typeof other === 'string'
      ? { option: other, reason: '' }
      : { option: other.option, reason: String(other.reason ?? '') },
  ),
  tags: one.tags.join(', '),
  pattern: one.pattern ?? '',
  project: one.project?.name ?? '',
  feature: one.project?.feature ?? '',
  pr: one.project?.pr ? String(one.project.pr) : '',
  review_in: one.review_in,
  structure: one.bridge.structure,
  function: one.bridge.function,
})

/** The free fields of an action. @throws CstpError that says what was expected */
export function factsIn(text: string, path: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Handled like any other value that is not an object.
  }
  const expected = t.fields.object
  throw invalidParams({ path, message: t.expected(expected), expected, received: text.slice(0, 40) })
}

export const tagsIn = (text: string): string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())
const share = (percent: string): number => Number(percent) / 100
const reasonsIn = ({ reasons }: Pick<Draft, 'reasons'>) =>
  reasons.map(({ type, text, strength }) => ({ type: type.trim(), text: text.trim(), strength: share(strength) }))

/** @throws CstpError for facts that are not JSON */
export function recordParamsOf(draft: Draft): RecordDecisionParams {
  const [name, feature, pr] = [orNull(draft.project), orNull(draft.feature), orNull(draft.pr)]
  return {
    decision: draft.decision.trim(),
    confidence: share(draft.confidence),
    category: draft.category.trim(),
    stakes: draft.stakes,
    context: orNull(draft.context),
    action_context: factsIn(draft.facts, 'action_context'),
    reasons: reasonsIn(draft),
    alternatives_considered: draft.alternatives.map(({ option, reason }) =>
      orNull(reason) === null ? option.trim() : { option: option.trim(), reason: reason.trim() },
    ),
    tags: tagsIn(draft.tags),
    pattern: orNull(draft.pattern),
    review_in: draft.review_in,
    project: name || feature || pr ? { name, feature, pr: pr === null ? null : Number(pr) } : null,
  }
}

/** Fields that an update can change. */
export const editable = [
  'decision',
  'context',
  'confidence',
  'reasons',
  'tags',
  'pattern',
  'project',
  'feature',
  'pr',
  'structure',
  'function',
] as const
export type Editable = (typeof editable)[number]

export const isSame = (one: Draft, other: Draft, field: Editable): boolean =>
  JSON.stringify(one[field]) === JSON.stringify(other[field])
export const changedFields = (mine: Draft, base: Draft): Editable[] =>
  editable.filter((field) => !isSame(mine, base, field))

/** The fields that differ from the decision as it was opened. */
export function updatesOf(mine: Draft, base: Draft, { bridge }: GetDecisionResult): UpdateDecisionParams['updates'] {
  const changed = new Set(changedFields(mine, base))
  const has = (...fields: Editable[]) => fields.some((field) => changed.has(field))
  return {
    ...(has('decision') && { decision: mine.decision.trim() }),
    ...(has('context') && { context: orNull(mine.context) }),
    ...(has('confidence') && { confidence: share(mine.confidence) }),
    ...(has('reasons') && { reasons: reasonsIn(mine) }),
    ...(has('tags') && { tags: tagsIn(mine.tags) }),
    ...(has('pattern') && { pattern: orNull(mine.pattern) }),
    ...(has('project', 'feature', 'pr') && {
      project: {
        ...(has('project') && { name: mine.project.trim() }),
        ...(has('feature') && { feature: orNull(mine.feature) }),
        ...(has('pr') && { pr: Number(mine.pr) }),
      },
    }),
    ...(has('structure', 'function') && {
      bridge: { ...bridge, structure: mine.structure.trim(), function: mine.function.trim() },
    }),
  }
}

const keyOf = (agent: string, name: string): string => keyHere(`cstp:draft:${agent}:${name}`)

function keptDraft<T extends object>(key: string): Partial<T> | null {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(key) ?? 'null')
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/**
 * A draft, kept in this tab over reloads and sessions of the same agent until it is cleared.
 * @param name the subject of the draft
 */
export function useDraft<T extends object>(agent: string, name: string, start: T) {
  const key = keyOf(agent, name)
  const [state, setState] = useState(() => {
    const kept = keptDraft<T>(key)
    return { value: { ...start, ...kept }, restored: kept !== null }
  })
  // Two changes may arrive before the page is rendered again.
  const latest = useRef(state.value)
  const change = (changes: Partial<T>) => {
    const value = { ...latest.current, ...changes }
    latest.current = value
    try {
      sessionStorage.setItem(key, JSON.stringify(value))
    } catch {
      // The draft exceeds the browser's storage: it lasts as long as the page.
    }
    setState((before) => ({ ...before, value }))
  }
  const clear = () => {
    latest.current = start
    sessionStorage.removeItem(key)
    setState({ value: start, restored: false })
  }
  return { ...state, change, clear }
}

/** An idempotency key that stays the same while the parameters do: a write that is sent twice is done once. */
export function keyFor(params: object, last: { key: string; of: string } | null): { key: string; of: string } {
  const of = JSON.stringify(params)
  if (last?.of === of) return last
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return { key: [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''), of }
}
