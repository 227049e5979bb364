/** Decisions that no agent recorded: observed calls become a record without confidence, which the agent or a person can adopt. */
import * as v from 'valibot'
import { RecordParams, type RecordResult } from '../../../sdk/schema/record.ts'
import { parseRecord } from '../../../sdk/storage/decisions.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { plainText, shorten } from '../../core/quote.ts'
import { prepareRecord, type RecordCall } from '../lifecycle/record.ts'
import { keepCommits } from '../record/decision/commits.ts'
import type { Consequence } from './consequence.ts'
import type { HookOutcome } from './event.ts'
import type { HookSession } from './session.ts'

const maxSaid = 2_000

const deeds: Record<Consequence['kind'], string> = {
  commit: 'Commit',
  pull_request: 'Pull request',
  deployment: 'Deployment',
  migration: 'Migration',
  dependency_change: 'Change of dependencies',
  rule: 'Call recorded by rule',
}

const deedOf = ({ kind, text, rule }: Consequence): string =>
  `${rule === null ? deeds[kind] : `${deeds[kind]} ${rule}`}: ${text}`

/** The record of a turn: the request, the calls, and what the agent said. */
export function observedParams(
  session: HookSession,
  deciding: Consequence,
  said: string | null,
  mask: (text: string) => string,
): RecordParams {
  const { pending, request, project, client } = session
  const pr = pending.find((one) => one.pr !== null)?.pr ?? null
  const parts = [
    ...(request === null ? [] : [`Asked: ${request}`]),
    ...pending.map((one) => `Done: ${deedOf(one)}${one.sha === null ? '' : ` (${one.sha})`}`),
    ...(said === null ? [] : [`Said: ${shorten(plainText(mask(said)), maxSaid)}`]),
    `Observed by the hook of ${client} in session ${session.session_id}.`,
  ]
  return v.parse(RecordParams, {
    decision: deedOf(deciding),
    confidence: null,
    category: null,
    context: parts.join('\n'),
    tags: [...new Set(pending.map(({ kind }) => kind))],
    project: project === null && pr === null ? null : { name: project, pr },
  })
}

/** Returns a function that records the decision in a transaction, with the commits that link it to its pull request. */
export async function prepareObserved(
  call: RecordCall,
  session: HookSession,
  params: RecordParams,
): Promise<(tx: Transaction) => Promise<RecordResult>> {
  const commit = await prepareRecord(call, params, { imported: false, created_ms: call.now(), source: 'hook' })
  const commits = [...new Set(session.pending.flatMap(({ sha }) => sha ?? []))]
  return async (tx) => {
    const result = await commit(tx)
    await keepCommits(tx, result.decision_id, commits)
    return result
  }
}

/** Whether the agent recorded a decision itself in this turn. */
export async function hasRecorded(call: RecordCall, { agent, turn_ms }: HookSession): Promise<boolean> {
  const { texts } = await call.store.decisions.list({
    filter: { agent, created_from_ms: turn_ms },
    sort: 'created_at',
    order: 'desc',
    offset: 0,
    limit: 20,
  })
  return texts.some((text) => parseRecord(text).source !== 'hook')
}

/** Asks the model to adopt the recorded decision, and says what rules say against it. */
export function askToAdopt(
  { decision_id, guardrail_warnings }: Pick<RecordResult, 'decision_id' | 'guardrail_warnings'>,
  { text }: Consequence,
): HookOutcome {
  const against = guardrail_warnings.map(
    ({ guardrail_id, message, suggestion }) =>
      `${guardrail_id}: ${plainText(message)}${suggestion === null ? '' : ` (${plainText(suggestion)})`}`,
  )
  const rules = against.length === 0 ? '' : ` Rules say of it: ${shorten(against.join('; '), maxSaid)}.`
  return {
    kind: 'go_on',
    reason: `You did something that deserves a decision, and recorded none: ${text}. It is kept as ${decision_id}, without confidence.${rules} If it was yours to decide, adopt it now with update_decision: decision_id ${decision_id}, updates with the decision in your words, its category, your confidence and your reasons. Then go on. You are asked once in a session.`,
  }
}
