/** Evaluates a tool call as an action, and turns the verdict into the answer of the hook. */
import type { ActionParams, Change, Violation } from '../../../sdk/schema/policy.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { sha256Hex } from '../../core/digest.ts'
import { plainText, shorten } from '../../core/quote.ts'
import { redact } from '../../core/secrets.ts'
import { baseOf, projectAround, resolve } from '../policy/command/paths.ts'
import type { PolicyCall } from '../policy/judge/call.ts'
import { judge } from '../policy/judge/judge.ts'
import { asAction, checkedAction, warning } from '../policy/judge/request.ts'
import { type Action, EvaluationError } from '../policy/rules/action.ts'
import { commandFacts } from '../policy/rules/command.ts'
import type { Evaluation } from '../policy/rules/evaluate.ts'
import { unjudgedCall } from '../policy/rules/packs.ts'
import type { Tracker } from '../record/deliberation/tracker.ts'
import {
  type CallReporter,
  type Fields,
  fieldsOf,
  type HookMode,
  type HookOutcome,
  type HookPlace,
  silent,
  type ToolCall,
} from './event.ts'
import { commandOf, contradictionIn, fileOf, folderOf, shownInput } from './input.ts'
import { projectStops } from './project-rules.ts'

export interface CheckCall extends PolicyCall {
  tracker: Pick<Tracker, 'types'>
  client: CallReporter
  mode: HookMode
}

const maxDescription = 400
const maxName = 256
/** Longest path that is judged: paths and commands are never cut. */
const maxPath = 32_768
const maxReason = 4_000

/** A short description of a call. Secrets are redacted before it is cut: half a secret would not be recognised. */
export function shortCall(call: ToolCall): string {
  const subject = redact(commandOf(call) ?? fileOf(call) ?? shownInput(call.input).input).value
  const text = subject === null ? '' : typeof subject === 'string' ? subject : JSON.stringify(subject)
  const shown = plainText(text.slice(0, 2 * maxDescription))
  return shorten(shown === '' ? call.tool : `${call.tool}: ${shown}`, maxDescription)
}

const maxHints = 32
/** The hints among the annotations of a tool, such as `readOnlyHint`. */
const hintsIn = (annotations: unknown): Fields =>
  Object.fromEntries(
    Object.entries(fieldsOf(annotations))
      .filter(([, value]) => typeof value === 'boolean')
      .slice(0, maxHints),
  )

/** The action that rules see for a call. */
export function actionOf(client: CallReporter, project: string | null, place: HookPlace, call: ToolCall): ActionParams {
  const [command, file_path, folder] = [commandOf(call), fileOf(call), folderOf(call)]
  const { input, not_shown } = shownInput(call.input)
  if (call.tool.length > maxName) not_shown.push(`tool: its end is not shown, sha256 ${sha256Hex(call.tool)}`)
  const { cwd } = place
  const root = projectAround(cwd, place.project_dir) ?? (folder === null ? null : cwd)
  return {
    description: shortCall(call),
    category: 'tool_use',
    confidence: null,
    tags: [],
    project,
    pr: null,
    scope: null,
    context: {
      tool: call.tool.slice(0, maxName),
      input,
      ...(not_shown.length > 0 && { not_shown }),
      ...(command !== null && { command }),
      ...(file_path !== null && { file_path }),
      mcp_server: call.mcp_server,
      ...(call.annotations !== undefined && { annotations: hintsIn(call.annotations) }),
      // A command that names its folder runs there; its project stays the session's.
      cwd: folder === null ? cwd : resolve(folder, baseOf({ cwd, project_dir: null })),
      ...(root !== null && { project_dir: root }),
      ...(command !== null && call.script && { script_path: call.script.path, script_text: call.script.text }),
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

/** The input of a tool as rules changed it; null if only the record changes, or if rules saw it cut or masked. */
function changedInput({ modified_action, changes }: Evaluation, action: Action, tool: ToolCall): Fields | null {
  if (changes.length === 0) return null
  const { input } = fieldsOf(modified_action?.context)
  const isAll = changes.filter(changesCall).every(({ field }) => /^context\.(?:command$|input\.)/.test(field))
  const isWhole = JSON.stringify(action.context.input) === JSON.stringify(tool.input)
  return isAll && isWhole && JSON.stringify(input) !== JSON.stringify(tool.input) ? fieldsOf(input) : null
}

/** The answer to the client. @param input the changed input of the tool, if rules changed it */
export function outcomeOf(
  { violations, warnings, changes, record_id }: Evaluation,
  input: Fields | null = null,
): HookOutcome {
  const reasons = violations.map(
    ({ guardrail_id, message, suggestion }) =>
      `${guardrail_id}: ${line(message)}${suggestion === null ? '' : `. What would allow it: ${line(suggestion)}`}`,
  )
  const own = changes.filter(changesCall)
  // Two names of one command are one change.
  const told = own.filter(
    ({ field, after }) =>
      field === 'context.command' || !own.some((one) => one.field === 'context.command' && one.after === after),
  )
  const why = (rule: string): string => {
    const found = warnings.find(({ guardrail_id }) => guardrail_id === rule)
    return found === undefined ? rule : `${rule}: ${line(found.message)}`
  }
  const wanted = told.map(
    ({ field, after, rule }) =>
      `${why(rule)}. Call the tool again with ${field} ${after === null ? 'left out' : line(JSON.stringify(after))}`,
  )
  const stopped = (stops: readonly string[]): string =>
    shorten(`cstp stopped this call. ${stops.join('; ')} (${record_id})`, maxReason)
  if (reasons.length > 0) return { kind: 'deny', reason: stopped(reasons) }
  if (wanted.length > 0) {
    const deny = stopped(wanted)
    if (input === null) return { kind: 'deny', reason: deny }
    const both = told.map(
      ({ before, after, rule }) => `${why(rule)}. Asked: ${line(String(before))}. Runs instead: ${line(String(after))}`,
    )
    return {
      kind: 'change',
      input,
      deny,
      reason: shorten(`cstp changed this call. ${both.join('; ')} (${record_id})`, maxReason),
    }
  }
  if (warnings.length === 0) return silent
  const texts = warnings.map(({ guardrail_id, message }) => `${guardrail_id}: ${line(message)}`)
  return { kind: 'warn', text: shorten(`cstp: ${texts.join('; ')}`, maxReason) }
}

export interface CheckedCall {
  outcome: HookOutcome
  evaluation: Evaluation
  /** The input with which the call may run; undefined if it is stopped. */
  runs: unknown
}

/** Why a call is stopped whatever the rules say: they would judge something else than what runs. */
function unjudged(call: ToolCall, action: Action): string | null {
  const contradiction = contradictionIn(call)
  if (contradiction !== null) return `${contradiction}, so the rules may judge another call than the tool makes`
  const { file_path } = action.context
  if (typeof file_path === 'string' && file_path.length > maxPath) return 'its path is too long to be judged'
  try {
    const { unread, opaque } = commandFacts(action)
    return unread ? `a part of it was not read: ${opaque.at(-1) ?? 'it names too many files'}` : null
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    return error.message
  }
}

const stop = (message: string): Violation => ({
  ...warning(unjudgedCall, 'The call can’t be judged as it is', message, 'Say it once, or in smaller calls'),
  severity: 'block',
})

/** An allowed call says that the rules of the repository are not applied. */
function withProblem(problem: string | null, outcome: HookOutcome, mode: HookMode): HookOutcome {
  if (problem === null || mode === 'shadow' || (outcome.kind !== 'silent' && outcome.kind !== 'warn')) return outcome
  const text = `cstp: the rules in .cstp/guardrails of this repository are not applied: ${line(problem)}`
  return { kind: 'warn', text: outcome.kind === 'warn' ? `${outcome.text}\n${text}` : text }
}

/**
 * Evaluates a tool call as checkGuardrails does, with one audit entry.
 * @param keep stores more in the transaction of the verdict
 */
export async function checkTool(
  call: CheckCall,
  project: string | null,
  place: HookPlace,
  tool: ToolCall,
  keep: (tx: Transaction, checked: CheckedCall) => Promise<void>,
): Promise<CheckedCall> {
  const given = actionOf(call.client, project, place, tool)
  const action = await checkedAction(call, asAction(call.caller.agent, given, 'check'), {})
  const why = unjudged(tool, action)
  const own = await projectStops(call.policy, place.rules ?? [], action, call.now(), (rule, error) =>
    call.log('error', 'a rule of a repository could not be evaluated', { rule, error: String(error) }),
  )
  const subject = { action, stops: [...(why === null ? [] : [stop(why)]), ...own.stops] }
  let checked: CheckedCall | undefined
  await judge(call, subject, call.mode, (tx, evaluation) => {
    const input = changedInput(evaluation, action, tool)
    const outcome = withProblem(own.problem, outcomeOf(evaluation, input), call.mode)
    const runs = outcome.kind === 'deny' ? undefined : outcome.kind === 'change' ? outcome.input : tool.input
    checked = { outcome, evaluation, runs }
    return keep(tx, checked)
  })
  return checked!
}
