/**
 * What an agent did earlier in its session, for rules that use it. A session holds the actions of the authenticated agent until the agent
 * is idle for a while. A session name from the caller starts no new one: otherwise an agent could hide what it has read.
 */
import type { KeyedReader, Store, Transaction } from '../../../../sdk/storage/store.ts'
import { maskSecrets } from '../../../core/secrets.ts'
import type { Action } from '../rules/action.ts'
import type { Policy } from '../rules/set.ts'

/** What rules see of a session. */
export interface SessionFacts {
  /** Without duplicates, in order of first occurrence. */
  actions: string[]
  classifications: string[]
  request: string | null
  /** Calls that the gateway saw succeed, as `server/tool`: what an agent says of itself is never among them. */
  observed: string[]
}

interface Stored extends Omit<SessionFacts, 'observed'> {
  /** Absent in older records. */
  observed?: string[]
  updated_ms: number
  /** More happened than a session keeps, so the rest is unknown. */
  full?: boolean
}

/** Name of the collection, for moving it to another store. */
export const actionSessionCollection = 'action_session'
/** Most names of each kind that a session keeps: the first ones. */
const namesKept = 100
const maxName = 64
const maxRequest = 2_000

/** The session of an agent; an empty one if it has none, or nothing happened in it for `ttl_ms`. */
export async function readSession(
  keyed: Pick<KeyedReader, 'get'>,
  agent: string,
  { now_ms, ttl_ms }: { now_ms: number; ttl_ms: number },
): Promise<SessionFacts & { updated_ms: number | null; full?: boolean }> {
  const [found] = await keyed.get(actionSessionCollection, [agent])
  const stored = found?.value as Stored | undefined
  return stored && stored.updated_ms >= now_ms - ttl_ms
    ? { ...stored, observed: stored.observed ?? [] }
    : { actions: [], classifications: [], request: null, observed: [], updated_ms: null }
}

const joined = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])].slice(0, namesKept)

/** Adds to the session. Writes only if that changes the session, or to keep it from ending. */
export async function addToSession(
  { keyed }: Pick<Transaction, 'keyed'>,
  agent: string,
  { actions = [], classifications = [], request = null, observed = [] }: Partial<SessionFacts>,
  time: { now_ms: number; ttl_ms: number },
): Promise<void> {
  const before = await readSession(keyed, agent, time)
  const after: Stored & SessionFacts = {
    actions: joined(before.actions, actions),
    classifications: joined(before.classifications, classifications),
    observed: joined(before.observed, observed),
    request: before.request ?? request?.slice(0, maxRequest) ?? null,
    updated_ms: time.now_ms,
  }
  const happened = new Set([...before.actions, ...actions]).size
  const full =
    before.full ||
    Math.max(
      happened,
      new Set([...before.classifications, ...classifications]).size,
      new Set([...before.observed, ...observed]).size,
    ) > namesKept
  if (full) after.full = true
  const same =
    after.full === before.full &&
    after.actions.length === before.actions.length &&
    after.classifications.length === before.classifications.length &&
    after.observed.length === before.observed.length &&
    after.request === before.request
  if (same && before.updated_ms !== null && time.now_ms - before.updated_ms < time.ttl_ms / 10) return
  await keyed.put(actionSessionCollection, agent, after)
}

/** Stores the request with which a session begins, if some rule uses session facts. */
export async function noteRequest(
  call: { policy: Policy; store: Store; caller: { agent: string }; tracker_ttl_ms: number; now(): number },
  request: string,
): Promise<void> {
  if (!(await call.policy.current()).keeps_sessions) return
  const time = { now_ms: call.now(), ttl_ms: call.tracker_ttl_ms }
  await call.store.transaction((tx) => addToSession(tx, call.caller.agent, { request: maskSecrets(request) }, time))
}

/** The name of an action in a session: its tool, else its category. */
export function namesOf({ category, context }: Action): string[] {
  const { tool } = context
  const found = typeof tool === 'string' && tool !== '' ? tool : category
  return found === null ? [] : [found.slice(0, maxName)]
}
