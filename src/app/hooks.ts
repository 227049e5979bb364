/** Hooks of agents' clients: which domain call handles each event, and the answer if the service fails. */
import { CstpError } from '../../sdk/errors.ts'
import type { Services } from '../calls/services.ts'
import { attributed } from '../core/audit.ts'
import { describeError, failureLevel } from '../core/log.ts'
import type { Observe } from '../core/observed.ts'
import { withoutSecretTexts } from '../core/secrets.ts'
import { answerHook, type HookCall } from '../domain/hook/answer.ts'
import { adapters } from '../domain/hook/clients.ts'
import {
  type HookClient,
  type HookEvent,
  type HookMode,
  type HookOutcome,
  hookClients,
  hookModes,
  silent,
} from '../domain/hook/event.ts'
import { openQuota } from '../domain/ledger/quota.ts'
import type { HookOptions } from '../surfaces/http/hooks.ts'

const methodOf = (client: HookClient): string => `POST /hooks/${client}`
/** Method names of hooks in the audit trail and in the metrics. */
export const hookMethods = hookClients.map(methodOf)

/** The answer to a tool call that can't be evaluated now: denied, since only a verdict may allow it. */
function failedOutcome(event: HookEvent, mode: HookMode, error: unknown): HookOutcome {
  if (mode === 'shadow' || event.kind !== 'before_tool') return silent
  const why = error instanceof CstpError ? error.message : 'the service could not evaluate its rules; see its log'
  return { kind: 'deny', reason: `cstp can't judge this call: ${why}` }
}

/** @param hooksChanged a sentence if a folder's hooks are not as they were written; null if they are, or nothing is known of it */
export function hookAnswers(
  services: Services,
  prompts: 'text' | 'digest',
  observe: Observe,
  hooksChanged: NonNullable<HookCall['hooksChanged']> = async () => null,
): HookOptions {
  const quota = openQuota(services)
  const { log, elapsed } = services
  return {
    clients: hookClients,
    async answer({ client: name, body, caller, request_id, signal, mode: given, project, branch, traceparent }) {
      const client = name as HookClient
      const { read, write } = adapters[client]
      const event = read(body)
      const mode = hookModes.find((one) => one === given) ?? 'enforce'
      const method = methodOf(client)
      const start = elapsed()
      const store = attributed(quota.of(caller.agent).store, caller)
      const call = { ...services, store, caller, method, request_id, signal, client, mode, project, branch }
      let outcome: HookOutcome
      let code = 0
      try {
        await quota.require(caller.agent)
        outcome = await answerHook({ ...call, prompts, hooksChanged }, event)
      } catch (error) {
        code = error instanceof CstpError ? error.code : -32603
        log(failureLevel(error, call), 'hook failed', {
          request_id,
          method,
          agent: caller.agent,
          ...describeError(error),
        })
        outcome = failedOutcome(event, mode, error)
      }
      const duration_ms = elapsed() - start
      const ended = { method, agent: caller.agent, request_id, traceparent, code, duration_ms }
      observe({
        ...ended,
        ...('call' in event && {
          tool: withoutSecretTexts({ name: event.call.tool, call_id: event.call.tool_use_id }),
        }),
      })
      const entry = { request_id, agent: caller.agent, method, event: event.kind, outcome: outcome.kind, code }
      log('info', 'hook', { ...entry, duration_ms: Math.round(duration_ms * 1_000) / 1_000 })
      return { answer: write(event.kind, outcome), failed: code !== 0 }
    },
  }
}
