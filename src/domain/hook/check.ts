/** A call of a tool as an action that rules judge, and what their verdict means for it. */
import { CstpError } from '../../../sdk/errors.ts'
import type { ActionParams, Change } from '../../../sdk/schema/policy.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { plainText, shorten } from '../../core/quote.ts'
import { redact } from '../../core/redact.ts'
import { deliberated, sessionOf } from '../deliberation/inputs.ts'
import type { Tracker } from '../deliberation/tracker.ts'
import { assumedStakes } from '../guardrail/action.ts'
import type { Evaluation } from '../guardrail/evaluate.ts'
import { type GuardedCall, openGuard } from '../guardrail/guard.ts'
import { toAction } from '../guardrail/request.ts'
import { commandOf, fileOf } from './consequence.ts'
import { type HookClient, type HookOutcome, type HookPlace, silent, type ToolCall } from './event.ts'

export interface CheckCall extends GuardedCall {
  tracker: Pick<Tracker, 'types'>
  client: HookClient
  /** Everything is answered with silence; the verdict is kept as `would_block`. */
  shadow: boolean
}

const maxDescription = 400
/** Longest text in an input that rules see whole: longer ones are cut, as a context holds 64 KiB. Commands and paths are never cut. */
const maxText = 4_096
const longestToken = 400
const maxItems = 50
const maxDepth = 5
const maxReason = 4_000

/** Not cut in the middle of a token: half a secret would not be known for one. */
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

/** A call in a few words. Secrets are taken out before it is cut: half of one would not be known for one. */
export function shortCall(call: ToolCall): string {
  const subject = redact(bounded(commandOf(call) ?? fileOf(call) ?? call.input)).value
  const text = subject === null ? '' : typeof subject === 'string' ? subject : JSON.stringify(subject)
  const shown = plainText(text.slice(0, 2 * maxDescription))
  return shorten(shown === '' ? call.tool : `${call.tool}: ${shown}`, maxDescription)
}

/** The action that rules see of a call. */
export function actionOf(client: HookClient, project: string | null, place: HookPlace, call: ToolCall): ActionParams {
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

/** Changes by rules of what the tool would get: the client would have to make them. Others change only what is recorded. */
const changesCall = ({ field }: Change): boolean =>
  /^(?:description|context(?:\.(?:input|command|file_path|tool|cwd)\b.*)?)$/.test(field)

/** What the client is answered. */
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
  /** Null if the call is too large to be judged, and therefore denied. */
  evaluation: Evaluation | null
}

/**
 * Judges a call of a tool as checkGuardrails does, with one row in the trail.
 * @param keep what else the transaction of the verdict keeps
 */
export async function checkTool(
  call: CheckCall,
  given: ActionParams,
  keep: (tx: Transaction, evaluation: Evaluation) => Promise<void>,
): Promise<CheckedCall> {
  const { agent } = call.caller
  let action: ReturnType<typeof toAction>
  try {
    action = toAction(agent, given, 'check')
  } catch (error) {
    if (!(error instanceof CstpError)) throw error
    const reason = `cstp can't judge this call: ${error.message}. Make it smaller`
    return { outcome: call.shadow ? silent : { kind: 'deny', reason }, evaluation: null }
  }
  const known = {
    ...action,
    ...(await deliberated(call.tracker, sessionOf({ caller: call.caller }, {}))),
    has_check: true,
  }
  const guard = await openGuard(call, { ...known, stakes: assumedStakes, agent })
  const evaluation = await guard.evaluate(known)
  const settled = await call.store.transaction(async (tx) => {
    const made = await guard.settle(tx, known, evaluation, { shadow: call.shadow })
    await keep(tx, made)
    return made
  })
  return { outcome: outcomeOf(settled), evaluation: settled }
}
