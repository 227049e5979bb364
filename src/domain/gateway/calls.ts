/** Calls of tools that pass the gateway: judged before they are sent, and recorded as the gateway saw them end. */
import type { Violation } from '../../../sdk/schema/policy.ts'
import { answerHook, checkCall, type HookCall } from '../hook/answer.ts'
import { actionOf, outcomeOf } from '../hook/check.ts'
import type { HookPlace, ToolCall as ReportedCall } from '../hook/event.ts'
import { openHistory } from '../policy/facts/live-history.ts'
import { asAction, checkedAction } from '../policy/judge/request.ts'
import { type Evaluation, evaluate } from '../policy/rules/evaluate.ts'
import type { LoadedRule } from '../policy/rules/parse.ts'

/** A call of the service by which the gateway judges or records. */
export interface GatewayCall extends Omit<HookCall, 'client' | 'branch' | 'prompts'> {
  /** Name of the server of the tool. */
  server: string
  session_id: string
}

/** A call of a tool. */
export interface PassingCall {
  /** Unique in the session. */
  id: string
  tool: string
  input: unknown
  /** What the server says of the tool. */
  annotations: unknown
}

export type CallVerdict =
  | { kind: 'forward'; input?: unknown; notes: string[]; granted: boolean }
  | { kind: 'refuse'; reason: string }
  | { kind: 'ask'; reason: string; approval: { id: string; url: string } }

/** How a call ended; `ok` is null if nobody knows. */
export interface EndOfCall {
  ok: boolean | null
  output: unknown
  duration_ms: number
}

const hookCallOf = (call: GatewayCall): HookCall => ({
  ...call,
  client: 'gateway',
  branch: null,
  prompts: 'digest',
})

const placeOf = ({ session_id }: GatewayCall): HookPlace => ({
  session_id,
  cwd: null,
  project_dir: null,
  permission_mode: null,
})

const reported = ({ server }: GatewayCall, { id, tool, input, annotations }: PassingCall): ReportedCall => ({
  tool,
  tool_use_id: id,
  input,
  mcp_server: server,
  annotations,
})

/** Whether a rule's change is one of the call itself. */
const changesInput = (evaluation: Evaluation): boolean =>
  evaluation.changes.some(({ field }) => /^context\.input\b/.test(field))

function verdictOf(evaluation: Evaluation): CallVerdict {
  const { allowed, approval, modified_action, changes } = evaluation
  const outcome = outcomeOf(evaluation)
  const granted = evaluation.approved_rules.length > 0
  if (allowed && changesInput(evaluation)) {
    const { input } = (modified_action?.context ?? {}) as Record<string, unknown>
    const notes = changes.map(
      ({ field, before, after, rule }) =>
        `cstp: the rule ${rule} changed ${field.replace(/^context\.input\.?/, '') || 'the input'} from ${JSON.stringify(before)} to ${JSON.stringify(after)} before the call was made.`,
    )
    return { kind: 'forward', input, notes, granted }
  }
  if (outcome.kind === 'deny') {
    const { reason } = outcome
    return approval?.state === 'pending' && approval.url !== null
      ? {
          kind: 'ask',
          reason: `${reason}. A person decides at ${approval.url}`,
          approval: { id: approval.id, url: approval.url },
        }
      : { kind: 'refuse', reason }
  }
  return { kind: 'forward', notes: outcome.kind === 'warn' ? [outcome.text] : [], granted }
}

/** Judges a call. @throws StorageError, or an error of an engine that rules use; the call must then not be sent */
export async function judgeCall(call: GatewayCall, passing: PassingCall): Promise<CallVerdict> {
  const { evaluation } = await checkCall(hookCallOf(call), {
    place: placeOf(call),
    call: reported(call, passing),
  })
  if (call.mode === 'shadow') return { kind: 'forward', notes: [], granted: false }
  return verdictOf(evaluation)
}

/** Whether rules ask which calls succeeded: the end of one is then recorded before the client has its answer, as it may ask another server next. */
export const isEvidence = async ({ policy }: Pick<GatewayCall, 'policy'>) => (await policy.current()).keeps_sessions

/** Records how a call ended. */
export async function endCall(call: GatewayCall, passing: PassingCall, end: EndOfCall & { ok: boolean }) {
  const event = { ...end, place: placeOf(call), call: reported(call, passing) }
  await answerHook(hookCallOf(call), { kind: 'after_tool', ...event })
}

/** Ends the session, with its counts in the audit trail. */
export async function endSession(call: GatewayCall): Promise<void> {
  await answerHook(hookCallOf(call), { kind: 'session_end', place: placeOf(call) })
}

/** Rules that are asked about something else than the call itself; none in shadow mode. */
const rulesOf = async (call: GatewayCall, isAsked: (rule: LoadedRule) => boolean) =>
  call.mode === 'shadow' ? [] : (await call.policy.current()).rules.filter(({ rule }) => isAsked(rule))

/** What these rules alone say. @param more members of the context */
async function judgedBy(
  rules: Awaited<ReturnType<typeof rulesOf>>,
  call: GatewayCall,
  passing: PassingCall,
  more: Readonly<Record<string, unknown>> = {},
) {
  const given = actionOf('gateway', call.project, placeOf(call), reported(call, passing))
  const asked = { ...given, context: { ...given.context, ...more } }
  const action = await checkedAction(call, asAction(call.caller.agent, asked, 'check'), {})
  return evaluate(rules, action, openHistory(call, {}), () => {})
}

/**
 * The rules by which the model may not get a result that reads as instructions. The call is judged before it is made, and by all rules; only
 * those that read `context.result` are asked again.
 */
export async function withholding(call: GatewayCall, passing: PassingCall): Promise<Violation[]> {
  const asked = await rulesOf(call, ({ conditions }) => /\bcontext\W{1,8}result\b/.test(JSON.stringify(conditions)))
  if (asked.length === 0) return []
  const { allowed, violations } = await judgedBy(asked, call, passing, { result: { suspicious: true } })
  return allowed ? [] : violations
}

/** The tools of these that rules with `hide: true` stop whatever their input is. */
export async function hiddenTools(
  call: GatewayCall,
  tools: readonly Pick<PassingCall, 'tool' | 'annotations'>[],
): Promise<Set<string>> {
  const hiding = await rulesOf(call, (rule) => rule.hide === true)
  const hidden = new Set<string>()
  if (hiding.length === 0) return hidden
  for (const { tool, annotations } of tools) {
    const { allowed } = await judgedBy(hiding, call, { id: '', tool, input: {}, annotations })
    if (!allowed) hidden.add(tool)
  }
  return hidden
}
