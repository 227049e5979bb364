/** Clients whose hooks were heard before, and which now call this service's tools without any: their hooks were removed or turned off. */

import type { Store } from '../../../sdk/storage/store.ts'
import type { Caller } from '../../core/caller.ts'
import { jsonSha256 } from '../../core/digest.ts'
import { describeError, type Log } from '../../core/log.ts'
import type { Astray } from '../../core/observed.ts'
import { dayMs } from '../../core/time.ts'
import { astrayDetail, noteAstray } from './astray.ts'
import { hookClients } from './event.ts'
import { changeSession, type HookSession, listHookSessions } from './session.ts'

export interface McpCall {
  store: Pick<Store, 'keyed' | 'transaction'>
  caller: Caller
  method: string
  request_id: string
  log: Log
  now(): number
  ranAstray(how: Astray): void
}

/** A client whose hooks were heard within this time has hooks. */
const heardMs = 7 * dayMs
/** The first hook of a session may come before its client connects. */
const slackMs = 60_000
/** Sessions do not last longer. */
const longestMs = 30 * dayMs
const maxKnown = 1_000

/** Whether a client that connected then runs its hooks: null if it never did. Its model's calls follow a prompt, which is an event too. */
function runsHooks(sessions: readonly HookSession[], since_ms: number, now_ms: number): boolean | null {
  const had = sessions.some(({ verdicts, last_ms }) => Object.keys(verdicts).length > 0 && last_ms >= now_ms - heardMs)
  return had ? sessions.some(({ last_ms }) => last_ms >= since_ms - slackMs) : null
}

export function openUngated() {
  /** Connections with hooks, or without any that were heard before, by agent and session. */
  const known = new Set<string>()

  async function look(call: McpCall, client: (typeof hookClients)[number], since_ms: number, params: unknown) {
    const { caller, store } = call
    const [{ agent, session = 'unnamed' }, at] = [caller, call.now()]
    const key = `${agent} ${client} ${session} ${since_ms}`
    if (known.has(key)) return
    const sessions = await listHookSessions(store.keyed, { agent, since_ms: at - longestMs, limit: 500 })
    const own = sessions.filter((one) => one.client === client && !one.mcp)
    if (runsHooks(own, since_ms, at) !== false) {
      if (known.size >= maxKnown) known.clear()
      known.add(key)
      return
    }
    const place = { session_id: session, cwd: null, project_dir: null, permission_mode: null }
    const action = { tool: call.method, record_id: null, input_digest: jsonSha256(params) }
    await store.transaction(async (tx) => {
      await changeSession(tx, { agent, client, project: null, branch: null }, place, at, (one) => ({
        ...one,
        mcp: true,
        actions: one.actions + 1,
        ran: { ...one.ran, unjudged: (one.ran?.unjudged ?? 0) + 1 },
      }))
      // In the trail it stands with what the hooks of this client report.
      const of = { caller, method: `POST /hooks/${client}`, request_id: call.request_id }
      await noteAstray(tx, of, at, place, astrayDetail('unjudged', action))
    })
    call.ranAstray('unjudged')
  }

  return {
    /** Notes a call over MCP that no hook was asked about. A store that fails to note it does not fail the call. */
    async note(call: McpCall, params: unknown): Promise<void> {
      const { mcp } = call.caller
      const client = mcp && hookClients.find((one) => mcp.client.toLowerCase().includes(one))
      if (client)
        await look(call, client, mcp.since_ms, params).catch((error) =>
          call.log('error', 'a call without hooks could not be noted', describeError(error)),
        )
    },
  }
}
