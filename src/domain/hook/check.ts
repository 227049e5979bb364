/** Evaluates a tool call as an action, and turns the verdict into the answer of the hook. */
import { CstpError } from '../../../sdk/errors.ts'
import type { ActionParams, Change } from '../../../sdk/schema/policy.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { plainText, shorten } from '../../core/quote.ts'
import { redact } from '../../core/secrets.ts'
import type { PolicyCall } from '../policy/judge/call.ts'
import { judge } from '../policy/judge/judge.ts'
import { checkedAction } from '../policy/judge/request.ts'
import type { Action } from '../policy/rules/action.ts'
import type { Evaluation } from '../policy/rules/evaluate.ts'
import type { Tracker } from '../record/deliberation/tracker.ts'
import { commandOf, fileOf } from './consequence.ts'
import { type CallReporter, type HookMode, type HookOutcome, type HookPlace, silent, type ToolCall } from './event.ts'

export interface CheckCall extends PolicyCall {
  tracker: Pick<Tracker, 'types'>
  client: CallReporter
  mode: HookMode
}

const maxDescription = 400
/** Longest text in an input that is not cut. Longer ones are, because a context holds 64 KiB. Commands and paths are never cut. */
const maxText = 4_096
const longestToken = 400
const maxItems = 50
const maxDepth = 5
const maxReason = 4_000

/** Cuts a text, but not in the middle of a token: half a secret would not be recognised. */
function cut(text: string): string {
  const sure = maxText - longestToken
  return (text.slice(0, sure) + text.slice(sure, maxText).replace(/\S+$/, '')).toWellFormed()
}

/** A copy of an input that a context can hold. */
function bounded(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.length > maxText ? cut(value) : value
  if (value === null || typeof value !== 'object') return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.slice(0, maxItems).map((one) => bounded(one, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, maxItems)
      .map(([key, one]) => [key.slice(0, 256), bounded(one, depth + 1)]),
  )
}

/** A short description of a call. Secrets are redacted before it is cut: half a secret would not be recognised. */
export function shortCall(call: ToolCall): string {
  const subject = redact(bounded(commandOf(call) ?? fileOf(call) ?? call.input)).value
  const text = subject === null ? '' : typeof subject === 'string' ? subject : JSON.stringify(subject)
  const shown = plainText(text.slice(0, 2 * maxDescription))
  return shorten(shown === '' ? call.tool : `${call.tool}: ${shown}`, maxDescription)
}

/** The action that rules see for a call. */
export function actionOf(client: CallReporter, project: string | null, place: HookPlace, call: ToolCall): ActionParams {
  const [command, file_path] = [commandOf(call), fileOf(call)]
  return {
    description: shortCall(call),
    category: 'tool_use',
    confidence: null,
    tags: [],
    project,
    pr: null,
    scope: null,
    context: {
      tool: call.tool.slice(0, 256),
      input: bounded(call.input),
      ...(command !== null && { command }),
      ...(file_path !== null && { file_path }),
      mcp_server: call.mcp_server,
      cwd: place.cwd,
      permission_mode: place.permission_mode,
      client,
      session_id: place.session_id,
      tool_use_id: call.tool_use_id,
    },
  } as ActionParams
}

const line = (text: string): string => shorten(plainText(text), 1_000)

/** Whether a change by a rule affects the input of the tool, which only the client can change. Other changes affect only the record. */
const changesCall = ({ field }: Change): boolean =>
  /^(?:description|context(?:\.(?:input|command|file_path|tool|cwd)\b.*)?)$/.test(field)

/** The answer to the client. */
export function outcomeOf({ violations, warnings, changes, record_id }: Evaluation): HookOutcome {
  const reasons = violations.map(
    ({ guardrail_id, message, suggestion }) =>
      `${guardrail_id}: ${line(message)}${suggestion === null ? '' : `. What would allow it: ${line(suggestion)}`}`,
  )
  const wanted = changes
    .filter(changesCall)
    .map(
      ({ field, after, rule }) =>
        `${rule}: call the tool again with ${field} ${after === null ? 'left out' : line(JSON.stringify(after))}`,
    )
  const stops = [...reasons, ...(reasons.length === 0 ? wanted : [])]
  if (stops.length > 0)
    return { kind: 'deny', reason: shorten(`cstp stopped this call. ${stops.join('; ')} (${record_id})`, maxReason) }
  if (warnings.length === 0) return silent
  const texts = warnings.map(({ guardrail_id, message }) => `${guardrail_id}: ${line(message)}`)
  return { kind: 'warn', text: shorten(`cstp: ${texts.join('; ')}`, maxReason) }
}

export interface CheckedCall {
  outcome: HookOutcome
  /** Null if the call is too large to be evaluated, and therefore denied. */
  evaluation: Evaluation | null
}

/**
 * Evaluates a tool call as checkGuardrails does, with one audit entry.
 * @param keep stores more in the transaction of the verdict
 */
export async function checkTool(
  call: CheckCall,
  given: ActionParams,
  keep: (tx: Transaction, evaluation: Evaluation) => Promise<void>,
): Promise<CheckedCall> {
  let action: Action
  try {
    action = await checkedAction(call, given, {})
  } catch (error) {
    if (!(error instanceof CstpError)) throw error
    const reason = `cstp can't judge this call: ${error.message}. Make it smaller`
    return { outcome: call.mode === 'shadow' ? silent : { kind: 'deny', reason }, evaluation: null }
  }
  const evaluation = await judge(call, { action }, call.mode, keep)
  return { outcome: outcomeOf(evaluation), evaluation }
}
