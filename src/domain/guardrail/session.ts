/**
 * What an agent did before in its session, for rules that ask: a session is the actions of the authenticated agent until it does nothing
 * for a while. No name that a caller gives starts another one, or an agent could leave behind what it has read.
 */
import type { KeyedReader, Transaction } from '../../../sdk/storage/store.ts'
import type { Action } from './action.ts'

/** What rules see of a session. */
export interface SessionFacts {
  /** Each once, in the order of their first time. */
  actions: string[]
  classifications: string[]
  request: string | null
}

interface Stored extends SessionFacts {
  updated_ms: number
  /** More happened than a session keeps: what it lacks is not known. */
  full?: boolean
}

/** Name of the collection, for moving it to another store. */
export const actionSessionCollection = 'action_session'
/** Names of each kind that a session keeps: the first ones. */
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
    ? stored
    : { actions: [], classifications: [], request: null, updated_ms: null }
}

const joined = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])].slice(0, namesKept)

/** Adds what happened to the session. Writes only if that changes it, or to keep it from ending. */
export async function addToSession(
  { keyed }: Pick<Transaction, 'keyed'>,
  agent: string,
  { actions = [], classifications = [], request = null }: Partial<SessionFacts>,
  time: { now_ms: number; ttl_ms: number },
): Promise<void> {
  const before = await readSession(keyed, agent, time)
  const after: Stored = {
    actions: joined(before.actions, actions),
    classifications: joined(before.classifications, classifications),
    request: before.request ?? request?.slice(0, maxRequest) ?? null,
    updated_ms: time.now_ms,
  }
  const happened = new Set([...before.actions, ...actions]).size
  const full =
    before.full || Math.max(happened, new Set([...before.classifications, ...classifications]).size) > namesKept
  if (full) after.full = true
  const same =
    after.full === before.full &&
    after.actions.length === before.actions.length &&
    after.classifications.length === before.classifications.length &&
    after.request === before.request
  if (same && before.updated_ms !== null && time.now_ms - before.updated_ms < time.ttl_ms / 10) return
  await keyed.put(actionSessionCollection, agent, after)
}

/** What a session calls an action: its tool, else its category. */
export function namesOf({ category, context }: Action): string[] {
  const { tool } = context
  const found = typeof tool === 'string' && tool !== '' ? tool : category
  return found === null ? [] : [found.slice(0, maxName)]
}
