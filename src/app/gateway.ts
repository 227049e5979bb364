/** The gateway on this server: judges and records what clients do with servers of tools. */
import type { Transport } from '@modelcontextprotocol/server'
import { CstpError, codes } from '../../sdk/errors.ts'
import type { Services } from '../calls/services.ts'
import { attributed, audit } from '../core/audit.ts'
import type { Caller } from '../core/caller.ts'
import { inputSha256 } from '../core/digest.ts'
import { describeError } from '../core/log.ts'
import { type Observer, type PassedEnd, traceparentOf } from '../core/observed.ts'
import { openBudget } from '../domain/gateway/budget.ts'
import {
  type EndOfCall,
  endCall,
  endSession,
  type GatewayCall,
  hiddenTools,
  isEvidence,
  judgeCall,
  withholding,
} from '../domain/gateway/calls.ts'
import { notePins } from '../domain/gateway/pins.ts'
import { shownResult } from '../domain/gateway/shown.ts'
import { openQuota } from '../domain/ledger/quota.ts'
import { approvalFor, viewerOf } from '../domain/policy/approval/answers.ts'
import { current } from '../domain/record/approval/approval.ts'
import { type Bridge, openBridge } from '../surfaces/gateway/bridge.ts'
import type { Gate, ToolCall } from '../surfaces/gateway/gate.ts'
import { gatewayMethod, type Upstream } from './config/upstreams.ts'
import { bridgeTools, connectTo, placeOf } from './gateway-connect.ts'

export interface GatewayOptions {
  services: Services
  /** Name of the server. */
  name: string
  upstream: Upstream
  caller: Caller
  project: string | null
  /** Nothing is stopped; what rules would have stopped is kept. */
  shadow: boolean
  newRequestId(): string
  /** Notified of judged calls, with the time that judging took, and of their ends; absent if nobody asks. */
  observer?: Pick<Observer, 'ended' | 'passed'>
  /** Aborts when the service stops. */
  stopping: AbortSignal
}

/** What judges and records the calls of one client. */
export function openGate(options: GatewayOptions): Gate {
  const { services, name, upstream, caller, project, shadow, newRequestId, observer, stopping } = options
  const quota = openQuota(services)
  const store = attributed(quota.of(caller.agent).store, caller)
  const session_id = `${name}-${services.randomHex(8)}`
  const budget = openBudget(upstream)
  const place = placeOf(upstream)
  const callOf = (): GatewayCall => ({
    ...services,
    store,
    caller,
    method: gatewayMethod(name),
    request_id: newRequestId(),
    signal: stopping,
    mode: shadow ? 'shadow' : 'enforce',
    project,
    server: name,
    session_id,
  })
  let used = false

  const gate: Gate = {
    async list(tools, server) {
      const from = { place, identity: server.name === null ? null : JSON.stringify([server.name, server.version]) }
      const accepted = await notePins(services.store, name, tools, from, services.now())
      const usable = shadow ? tools : tools.filter((tool) => accepted.includes(tool))
      const hidden = await hiddenTools(
        callOf(),
        usable.map(({ name: tool, annotations = null }) => ({ tool, annotations })),
      )
      return usable.filter((tool) => !hidden.has(tool.name))
    },
    async withheld({ tool, input }) {
      const call = callOf()
      const detail = { server: name, tool: tool.slice(0, 256), digest: inputSha256(input), session_id }
      await store.transaction((tx) => audit(call, tx, [], detail, ['gateway-pin']))
      return `cstp stopped this call: ${JSON.stringify(tool.slice(0, 100))} is not a tool of ${name} that may be called. It is unknown, hidden by a rule, or new or changed since a person accepted it (cstp gateway pins)`
    },
    async judge(call) {
      await quota.require(caller.agent)
      const refused = budget.take(call.tool, inputSha256(call.input), services.now())
      if (refused !== null) return { kind: 'refuse', reason: `cstp stopped this call: ${refused}` }
      used = true
      const start = services.elapsed()
      let code = codes.internal_error as number
      const judging = callOf()
      try {
        const judged = await judgeCall(judging, call)
        code = 0
        return judged
      } catch (error) {
        if (error instanceof CstpError) code = error.code
        throw error
      } finally {
        const { method, request_id } = judging
        observer?.ended({
          method,
          request_id,
          agent: caller.agent,
          code,
          duration_ms: services.elapsed() - start,
          traceparent: traceparentOf(call.meta),
          tool: { name: call.tool, call_id: call.id },
        })
      }
    },
    async answered({ id }) {
      const viewer = viewerOf(caller, services.roles)
      const found = await approvalFor(services.store.keyed, id, viewer)
      if (found === null || found === 'withheld') return 'refused'
      const { state } = current(found, services.now())
      return state === 'pending' ? 'undecided' : state === 'approved' ? 'granted' : 'refused'
    },
    async ended(call: ToolCall, { ok, ...end }: EndOfCall) {
      // It stays recorded as judged, without an end.
      if (ok === null) return
      budget.ended(call.tool, inputSha256(call.input), ok)
      const record = () => endCall(callOf(), call, { ok, ...end })
      if (ok && (await isEvidence(services))) return record()
      const failed = (error: unknown) =>
        services.log('error', 'the end of a call could not be recorded', { server: name, ...describeError(error) })
      services.thread.later(() => record().catch(failed))
    },
    shown: (result, passing) =>
      shownResult(result, upstream.max_result_bytes, async () => {
        if (passing === undefined) return null
        const call = callOf()
        const stops = await withholding(call, passing)
        if (stops.length === 0) return null
        const ids = stops.map(({ guardrail_id }) => guardrail_id)
        const detail = { server: name, tool: passing.tool, digest: inputSha256(passing.input), session_id }
        await store.transaction((tx) => audit(call, tx, [], detail, ids))
        return stops.map(({ guardrail_id, message }) => `${guardrail_id}: ${message}`).join('; ')
      }).catch((error) => {
        services.log('error', 'a result could not be checked', { server: name, ...describeError(error) })
        const text = 'cstp could not check the result, so it is withheld. The call was made.'
        return { content: [{ type: 'text', text }], isError: true }
      }),
    async close() {
      await services.thread.settled()
      if (used) await endSession(callOf())
    },
  }
  return observer === undefined ? gate : counted(gate, (...end) => observer.passed(name, ...end))
}

/** A gate whose calls are counted by how they end. */
const counted = (gate: Gate, passed: (end: PassedEnd, duration_ms?: number) => void): Gate => ({
  ...gate,
  async withheld(call) {
    passed('withheld')
    return gate.withheld(call)
  },
  async judge(call) {
    const judged = await gate.judge(call).catch((error) => {
      passed('unjudged')
      throw error
    })
    if (judged.kind !== 'forward') passed(judged.kind === 'ask' ? 'asked' : 'refused')
    return judged
  },
  async ended(call, end) {
    passed(end.ok === null ? 'unknown' : end.ok ? 'succeeded' : 'failed', end.duration_ms)
    await gate.ended(call, end)
  },
})

/** Connects a client with a server. @throws if the server can't be started */
export const openSession = (front: Transport, options: GatewayOptions): Promise<Bridge> => {
  const { services, name, upstream } = options
  return openBridge({
    front,
    connect: () => connectTo(upstream),
    gate: openGate(options),
    name,
    approval_wait_ms: upstream.approval_wait * 1_000,
    ...bridgeTools(services.log),
  })
}
