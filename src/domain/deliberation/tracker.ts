/**
 * The deliberation tracker: what an agent read and thought before it decided, kept until a record takes it. Thoughts are durable
 * before the answer; what reads leave behind is gathered and committed within 50 ms.
 */
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
import { expireResults } from '../decision/idempotency.ts'
import {
  appendInputs,
  consumeSession,
  expireSessions,
  getSession,
  getTypes,
  inputsKept,
  type Session,
  type SessionInput,
} from './sessions.ts'

/** Whose deliberation it is: the authenticated agent, and what a call gives to tell its sessions apart. */
export interface SessionName {
  agent: string
  agent_id: string | null
  scope: string | null
}

/** The composite key of a session. */
export const sessionKey = ({ agent, agent_id, scope }: SessionName): string =>
  agent_id === null && scope === null
    ? agent
    : [
        agent,
        ...(agent_id === null || agent_id === agent ? [] : [`as:${encodeURIComponent(agent_id)}`]),
        ...(scope === null ? [] : [`scope:${encodeURIComponent(scope)}`]),
      ].join('|')

export type InputDraft = Pick<SessionInput, 'type' | 'text' | 'data'>

export interface Tracker {
  /** Leaves an input behind; it is durable within 50 ms. */
  note(name: SessionName, source: string, input: InputDraft): void
  /** Leaves a thought in a transaction; durable when that is. */
  think(tx: Transaction, name: SessionName, source: string, text: string): Promise<void>
  /** The session, with what is not durable yet; null when there is none or it has gone idle. */
  peek(name: SessionName): Promise<Session | null>
  /** Types of the inputs of that session, without reading them; null when there is none. */
  types(name: SessionName): Promise<ReadonlySet<string> | null>
  /** Takes the session for a decision; exactly one transaction gets it. Call {@link flush} before the transaction. */
  consume(tx: Transaction, name: SessionName, decision_id: string): Promise<Session | null>
  /** Makes durable what was noted. */
  flush(): Promise<void>
  /** Ends idle sessions, and forgets the results of writes that are over. */
  expire(): Promise<void>
  close(): Promise<void>
}

interface TrackerOptions {
  store: Store
  now(): number
  newId(): string
  /** After so many milliseconds without an input a session ends. */
  ttl_ms: number
  after(ms: number, run: () => void): () => void
  failed(error: unknown): void
}

const gatherMs = 50
/** Sessions that one transaction writes: each is on pages of its own, and a call that comes meanwhile waits until all of those are synced. */
const sessionsAtOnce = 8
const retryMs = 1_000
const sweepMs = 60_000
/** Noted inputs that may wait when the store is unavailable; older ones are dropped. */
const maxWaiting = 10_000

/** An input that is made when it is first asked for: of many that are noted at once, only the newest are kept. */
interface Noted {
  type: string
  made(): SessionInput
}

/** What was noted for a session. */
interface Notes {
  name: SessionName
  inputs: Noted[]
  types: Set<string>
}
/** By the key of the session. */
type Waiting = Map<string, Notes>

function addNote(waiting: Waiting, name: SessionName, input: Noted): void {
  const key = sessionKey(name)
  let notes = waiting.get(key)
  if (notes === undefined) {
    notes = { name, inputs: [], types: new Set() }
    waiting.set(key, notes)
  }
  notes.inputs.push(input)
  notes.types.add(input.type)
}

/** Both, of so many inputs the newest. */
function joined(older: Waiting, newer: Waiting, most: number): Waiting {
  const all = [...older.values(), ...newer.values()].flatMap(({ name, inputs }) =>
    inputs.map((input) => [name, input] as const),
  )
  const waiting: Waiting = new Map()
  for (const [name, input] of all.slice(-most)) addNote(waiting, name, input)
  return waiting
}

export function startTracker({ store, now, newId, ttl_ms, after, failed }: TrackerOptions): Tracker {
  let waiting: Waiting = new Map()
  /** What is not durable either, until its transaction ends. */
  let writing: Waiting = new Map()
  let cancel: (() => void) | null = null
  let flushing: Promise<void> = Promise.resolve()
  let closed = false

  function inputOf(source: string, draft: InputDraft): Noted {
    const at_ms = now()
    let input: SessionInput | undefined
    return {
      type: draft.type,
      made() {
        input ??= { id: newId(), source, timestamp: new Date(at_ms).toISOString(), ...draft }
        return input
      },
    }
  }

  function append(tx: Transaction, name: SessionName, inputs: readonly Noted[]): Promise<void> {
    const kept = inputs.slice(-inputsKept)
    const times = { now_ms: now(), ttl_ms, older: inputs.length - kept.length }
    const made = kept.map((one) => one.made())
    return appendInputs(tx, { key: sessionKey(name), agent: name.agent }, made, times)
  }

  /** A session that has gone idle counts as ended, whether or not it was swept. */
  const alive = (session: Session | null): session is Session =>
    session !== null && session.updated_ms >= now() - ttl_ms

  /** Asked before the stored session is read: what is committed in between is in both, and never in neither. */
  const notesOf = (key: string): Notes[] => [writing, waiting].flatMap((notes) => notes.get(key) ?? [])

  const write = async (): Promise<void> => {
    if (waiting.size === 0) return
    writing = waiting
    waiting = new Map()
    const left = [...writing]
    try {
      while (left.length > 0) {
        await store.transaction(async (tx) => {
          for (const [, { name, inputs }] of left.slice(0, sessionsAtOnce)) await append(tx, name, inputs)
        })
        left.splice(0, sessionsAtOnce)
      }
    } catch (error) {
      waiting = joined(new Map(left), waiting, maxWaiting)
      failed(error)
      if (!closed) cancel ??= after(retryMs, () => void flush())
    } finally {
      writing = new Map()
    }
  }

  const flush = (): Promise<void> => {
    cancel?.()
    cancel = null
    flushing = flushing.then(write)
    return flushing
  }

  const expire = async (): Promise<void> => {
    await expireSessions(store, now())
    await expireResults(store, now())
  }

  let cancelSweep = () => {}
  const sweepLater = (): void => {
    if (closed) return
    cancelSweep = after(sweepMs, () => void expire().catch(failed).finally(sweepLater))
  }
  sweepLater()

  return {
    note(name, source, draft) {
      if (closed) return
      addNote(waiting, name, inputOf(source, draft))
      cancel ??= after(gatherMs, () => void flush())
    },
    async think(tx, name, source, text) {
      await append(tx, name, [inputOf(source, { type: 'thought', text, data: null })])
    },
    async peek(name) {
      const key = sessionKey(name)
      const notes = notesOf(key)
      const stored = await getSession(store, key)
      const session = alive(stored) ? stored : null
      const known = new Set(session?.inputs.map(({ id }) => id))
      const noted = notes.flatMap(({ inputs }) => inputs.map((one) => one.made())).filter(({ id }) => !known.has(id))
      if (noted.length === 0) return session
      const empty: Session = { key, agent: name.agent, inputs: [], dropped: 0, created_ms: now(), updated_ms: now() }
      return { ...(session ?? empty), inputs: [...(session?.inputs ?? []), ...noted] }
    },
    async types(name) {
      const key = sessionKey(name)
      const noted = notesOf(key).flatMap(({ types }) => [...types])
      const stored = await getTypes(store, key, { now_ms: now(), ttl_ms })
      return stored === null && noted.length === 0 ? null : new Set([...(stored ?? []), ...noted])
    },
    consume: (tx, name, decision_id) => consumeSession(tx, sessionKey(name), decision_id, { now_ms: now(), ttl_ms }),
    flush,
    expire,
    async close() {
      closed = true
      cancelSweep()
      await flush()
    },
  }
}
