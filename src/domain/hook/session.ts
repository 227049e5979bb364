/** Sessions of agents' clients as their hooks report them: a keyed record for each session, and a small one for each tool call. */

import type { VerdictValue } from '../../../sdk/schema/verdict.ts'
import type { KeyedReader, KeyedRecord, Transaction } from '../../../sdk/storage/store.ts'
import { stableJson } from '../../core/canonical.ts'
import { jsonSha256, sha256Hex } from '../../core/digest.ts'
import type { Astray } from '../../core/observed.ts'
import { dayMs } from '../../core/time.ts'
import { type HookAction, hookCollections } from '../record/hook-records.ts'
import type { Consequence } from './consequence.ts'
import type { CallReporter, HookPlace, ToolCall } from './event.ts'
import { keyPart } from './event.ts'

const { session: sessions, start: starts, action: actions, client: clients } = hookCollections

/** How long a session is kept from its start, and a call from its check. The audit trail keeps the verdicts. */
const keptMs = 90 * dayMs
const actionKeptMs = 30 * dayMs
const expiredAtOnce = 200
/** How often the time of a client's last event is written. */
const heardMs = 60_000
/** Most calls in progress without a name. */
const maxOpen = 50

export interface HookSession {
  agent: string
  client: CallReporter
  session_id: string
  project: string | null
  branch: string | null
  cwd: string | null
  started_ms: number
  last_ms: number
  ended_ms: number | null
  /** Place in the thread at which its acts begin; null if its start was not reported. */
  first_index: number | null
  /** Completed calls, and those of them that failed. */
  actions: number
  errors: number
  /** Calls that were checked, by verdict. */
  verdicts: Partial<Record<VerdictValue, number>>
  would_block: number
  /** Completed calls that ran against their verdict, or without one; absent in sessions of before. */
  ran?: Partial<Record<Astray, number>>
  /** Whether the client's hooks were not as they were written when it began. */
  hooks_changed?: true
  /** Hash chain over the completed calls, SHA-256: it changes if one is left out. */
  digest: string
  /** The request of this turn without secrets, or its digest. */
  request: string | null
  turn_ms: number
  /** Calls of this turn that deserve a decision. */
  pending: Consequence[]
  /** Whether the model was asked in this session to adopt a decision. */
  asked: boolean
  /** True if no hook reported it: its calls reached this service over MCP. */
  mcp?: true
  /** Keys of calls in progress without a name, by the digest of their input. */
  open: Record<string, string>
}

export interface HookSource {
  agent: string
  client: CallReporter
  project: string | null
  branch: string | null
}

/** What is kept of the output of a call: its digest and length as canonical JSON. */
export function keptOf(output: unknown): { output_digest: string; output_bytes: number } {
  const text = stableJson(output)
  return { output_digest: sha256Hex(text), output_bytes: Buffer.byteLength(text) }
}

/** The key of a session. Names of agents contain no colon. */
export const sessionKey = ({ agent, client }: HookSource, { session_id }: HookPlace): string =>
  `${agent}:${client}:${keyPart(session_id)}`

/** A session from its record. */
export const sessionOf = (record: KeyedRecord | undefined): HookSession | null =>
  (record?.value as HookSession | undefined) ?? null

/** The stored session; null if there is none. */
export async function readHookSession(keyed: Pick<KeyedReader, 'get'>, key: string): Promise<HookSession | null> {
  const [found] = await keyed.get(sessions, [key])
  return sessionOf(found)
}

const newSession = ({ agent, client, project, branch }: HookSource, place: HookPlace, now_ms: number): HookSession => ({
  agent,
  client,
  session_id: place.session_id.slice(0, 256).toWellFormed(),
  project,
  branch,
  cwd: place.cwd?.slice(0, 1_024).toWellFormed() ?? null,
  started_ms: now_ms,
  last_ms: now_ms,
  ended_ms: null,
  first_index: null,
  actions: 0,
  errors: 0,
  verdicts: {},
  would_block: 0,
  digest: '',
  request: null,
  turn_ms: now_ms,
  pending: [],
  asked: false,
  open: {},
})

/** Changes a session, or creates it. `change` may await calls of the transaction. */
export async function changeSession(
  { keyed }: Pick<Transaction, 'keyed'>,
  source: HookSource,
  place: HookPlace,
  now_ms: number,
  change: (session: HookSession) => HookSession | Promise<HookSession> = (session) => session,
): Promise<HookSession> {
  const key = sessionKey(source, place)
  const known = await readHookSession(keyed, key)
  const before = known ?? newSession(source, place, now_ms)
  const { project, branch } = source
  const next = await change({
    ...before,
    project: project ?? before.project,
    branch: branch ?? before.branch,
    last_ms: now_ms,
  })
  const expires_ms = next.started_ms + keptMs
  await keyed.put(sessions, key, next, { expires_ms })
  if (known === null) {
    await keyed.put(starts, `${String(now_ms).padStart(15, '0')}:${key}`, { agent: source.agent }, { expires_ms })
    for (const one of [sessions, starts, actions]) await keyed.expire(one, now_ms, expiredAtOnce)
  }
  if (!next.mcp && (known === null || now_ms - before.last_ms >= heardMs))
    await keyed.put(clients, source.client, { last_ms: now_ms, agent: source.agent })
  return next
}

/** The session with a call in progress added. A call without a name gets one. */
export function opened(session: HookSession, call: ToolCall): { session: HookSession; id: string } {
  if (call.tool_use_id !== null) return { session, id: keyPart(call.tool_use_id) }
  const digest = jsonSha256([call.tool, call.input])
  const id = `~${digest.slice(0, 24)}.${session.actions}`
  const open = Object.fromEntries([...Object.entries(session.open).slice(1 - maxOpen), [digest, id]])
  return { session: { ...session, open }, id }
}

/** The name of a completed call, and the session without it among the calls in progress. */
export function closed(session: HookSession, call: ToolCall): { session: HookSession; id: string } {
  if (call.tool_use_id !== null) return { session, id: keyPart(call.tool_use_id) }
  const digest = jsonSha256([call.tool, call.input])
  const { [digest]: id, ...open } = session.open
  return { session: { ...session, open }, id: id ?? `~${digest.slice(0, 24)}.${session.actions}` }
}

const actionKey = (session_key: string, id: string): string => `${session_key}:${id}`

export async function readAction(
  keyed: Pick<KeyedReader, 'get'>,
  session_key: string,
  id: string,
): Promise<HookAction | null> {
  const [found] = await keyed.get(actions, [actionKey(session_key, id)])
  return (found?.value as HookAction | undefined) ?? null
}

export const putAction = (
  { keyed }: Pick<Transaction, 'keyed'>,
  session_key: string,
  id: string,
  action: Omit<HookAction, 'session'>,
): Promise<void> => {
  const kept: HookAction = { ...action, session: session_key }
  return keyed.put(actions, actionKey(session_key, id), kept, { expires_ms: action.at_ms + actionKeptMs })
}

/** A page of sessions of one agent or of all, by start, latest first. */
export async function listHookSessions(
  keyed: KeyedReader,
  { agent, since_ms, limit }: { agent: string | null; since_ms: number; limit: number },
): Promise<HookSession[]> {
  const found: HookSession[] = []
  const size = 200
  for (let before: string | undefined; ; ) {
    const page = await keyed.list(starts, {
      order: 'desc',
      limit: size,
      ...(before !== undefined && { after: before }),
    })
    const wanted = page.filter(({ key, value }) => {
      const since = Number(key.slice(0, 15)) >= since_ms
      return since && (agent === null || (value as { agent: string }).agent === agent)
    })
    const rows = await keyed.get(
      sessions,
      wanted.slice(0, limit - found.length).map(({ key }) => key.slice(16)),
    )
    found.push(...rows.flatMap((row) => sessionOf(row) ?? []))
    const last = page.at(-1)
    if (found.length >= limit || page.length < size || !last || Number(last.key.slice(0, 15)) < since_ms) return found
    before = last.key
  }
}
