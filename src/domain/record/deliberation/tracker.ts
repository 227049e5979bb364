/**
 * The deliberation tracker keeps what an agent read and thought before it decided, until a record consumes it. Thoughts are durable
 * before their call is answered; inputs noted by reads are gathered and committed within 50 ms.
 */
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { expireResults } from '../decision/idempotency.ts'
import {
  appendInputs,
  consumeSession,
  expireSessions,
  getSession,
  getTypes,
  inputsKept,
  keysBelow,
  merged,
  type Session,
  type SessionInput,
} from './sessions.ts'

/** Identifies a session: the authenticated agent, and what a call gives to tell the agent's sessions apart. */
export interface SessionName {
  agent: string
  agent_id: string | null
  scope: string | null
  /** The session of its client, if the client names one. */
  client?: string | undefined
}

const clientPart = 'client:'

/** The composite key of a session. */
export const sessionKey = ({ agent, agent_id, scope, client }: SessionName): string =>
  agent_id === null && scope === null && client === undefined
    ? agent
    : [
        agent,
        ...(agent_id === null || agent_id === agent ? [] : [`as:${encodeURIComponent(agent_id)}`]),
        ...(scope === null ? [] : [`scope:${encodeURIComponent(scope)}`]),
        ...(client === undefined ? [] : [`${clientPart}${encodeURIComponent(client)}`]),
      ].join('|')

/** The key without the session of the client, and that session; null if it names none. */
export function partsOf(key: string): { key: string; client: string | null } {
  const at = key.lastIndexOf(`|${clientPart}`)
  return at === -1
    ? { key, client: null }
    : { key: key.slice(0, at), client: decodeURIComponent(key.slice(at + 1 + clientPart.length)) }
}

export type InputDraft = Pick<SessionInput, 'type' | 'text' | 'data'>

export interface Tracker {
  /** Notes an input; it is durable within 50 ms. */
  note(name: SessionName, source: string, input: InputDraft): void
  /** Adds a thought in a transaction; the thought is durable when the transaction is. */
  think(tx: Transaction, name: SessionName, source: string, text: string): Promise<void>
  /** The session, including inputs that are not durable yet; null if there is none or it has gone idle. */
  peek(name: SessionName): Promise<Session | null>
  /**
   * Types of the inputs of that session, without reading the inputs; null if there is none. For a caller that names no session of its client, as
   * a hook, those of all sessions of the agent: what they hold stays theirs.
   */
  types(name: SessionName): Promise<ReadonlySet<string> | null>
  /** Takes the session for a decision; exactly one transaction gets it. Call {@link flush} before the transaction. */
  consume(tx: Transaction, name: SessionName, decision_id: string): Promise<Session | null>
  /** Makes all noted inputs durable. */
  flush(): Promise<void>
  /** Ends idle sessions, and deletes expired results of writes. */
  expire(): Promise<void>
  close(): Promise<void>
}

interface TrackerOptions {
  store: Store
  now(): number
  newId(): string
  /** A session ends after this many milliseconds without an input. */
  ttl_ms: number
  after(ms: number, run: () => void): () => void
  failed(error: unknown): void
}

const gatherMs = 50
/** Most sessions that one transaction writes: each is on separate pages, and a call that arrives meanwhile waits until all of them are synced. */
const sessionsAtOnce = 8
const retryMs = 1_000
const sweepMs = 60_000
/** Most noted inputs that may wait while the store is unavailable; older ones are dropped. */
const maxWaiting = 10_000

/** An input that is built when it is first needed: of many that are noted at once, only the newest are kept. */
interface Noted {
  at_ms: number
  source: string
  draft: InputDraft
  made: SessionInput | null
}

/** Inputs noted for a session and not written yet. */
interface Notes {
  name: SessionName
  /** The newest inputs, as many as a session keeps. A ring, since a thousand reads may be noted before they are written. */
  ring: Noted[]
  /** Index of the oldest input in a full ring. */
  oldest: number
  /** How many inputs are no longer in the ring. */
  older: number
  /** How many inputs in the ring have each type. */
  types: Map<string, number>
}
/** By the key of the session. */
type Waiting = Map<string, Notes>

function notesIn(waiting: Waiting, name: SessionName): Notes {
  const key = sessionKey(name)
  let notes = waiting.get(key)
  if (notes === undefined) {
    notes = { name, ring: [], oldest: 0, older: 0, types: new Map() }
    waiting.set(key, notes)
  }
  return notes
}

function addNote(notes: Notes, input: Noted): void {
  const { ring, oldest, types } = notes
  const { type } = input.draft
  types.set(type, (types.get(type) ?? 0) + 1)
  if (ring.length < inputsKept) {
    ring.push(input)
    return
  }
  const gone = ring[oldest]!.draft.type
  if (types.get(gone) === 1) types.delete(gone)
  else types.set(gone, types.get(gone)! - 1)
  ring[oldest] = input
  notes.oldest = (oldest + 1) % inputsKept
  notes.older++
}

const inputsOf = ({ ring, oldest }: Notes): Noted[] => [...ring.slice(oldest), ...ring.slice(0, oldest)]

/** Both together, with the newest `most` inputs. */
function joined(older: Waiting, newer: Waiting, most: number): Waiting {
  const all = [...older.values(), ...newer.values()]
  const waiting: Waiting = new Map()
  for (const notes of all) notesIn(waiting, notes.name).older += notes.older
  const inputs = all.flatMap((notes) => inputsOf(notes).map((input) => [notes.name, input] as const))
  for (const [name, input] of inputs.slice(-most)) addNote(notesIn(waiting, name), input)
  return waiting
}

export function startTracker({ store, now, newId, ttl_ms, after, failed }: TrackerOptions): Tracker {
  let waiting: Waiting = new Map()
  /** Notes that are being written: not durable either, until their transaction ends. */
  let writing: Waiting = new Map()
  let cancel: (() => void) | null = null
  let flushing: Promise<void> = Promise.resolve()
  let closed = false

  const noted = (source: string, draft: InputDraft): Noted => ({ at_ms: now(), source, draft, made: null })

  function madeOf(input: Noted): SessionInput {
    const { at_ms, source, draft } = input
    input.made ??= { id: newId(), source, timestamp: new Date(at_ms).toISOString(), ...draft }
    return input.made
  }

  function append(tx: Transaction, name: SessionName, inputs: readonly Noted[], older: number): Promise<void> {
    return appendInputs(tx, { key: sessionKey(name), agent: name.agent }, inputs.map(madeOf), {
      now_ms: now(),
      ttl_ms,
      older,
    })
  }

  /** A session that has gone idle counts as ended, whether or not it was swept. */
  const alive = (session: Session | null): session is Session =>
    session !== null && session.updated_ms >= now() - ttl_ms

  /** Called before the stored session is read: an input that is committed in between is then in both, never in neither. */
  const notesOf = (key: string): Notes[] => [writing, waiting].flatMap((notes) => notes.get(key) ?? [])

  /**
   * The sessions that a call has: its own. Calls that name no session of a client, as over HTTP, share one with the only client that the agent
   * has; if it has several, nobody knows which of them they are from.
   * @param all with those of all clients for a call that names none
   */
  async function keysOf(name: SessionName, all = false): Promise<string[]> {
    const own = sessionKey(name)
    const base = sessionKey({ ...name, client: undefined })
    const prefix = `${base}|${clientPart}`
    const clients = new Set<string>()
    for (const notes of [writing, waiting]) for (const key of notes.keys()) if (key.startsWith(prefix)) clients.add(key)
    for (const key of await keysBelow(store, prefix, { now_ms: now(), ttl_ms })) clients.add(key)
    const isOnly = name.client === undefined ? all || clients.size <= 1 : [...clients].every((key) => key === own)
    return isOnly ? [...new Set([base, ...clients, own])] : [own]
  }

  async function peekAt(key: string, agent: string): Promise<Session | null> {
    const notes = notesOf(key)
    const stored = await getSession(store, key)
    const session = alive(stored) ? stored : null
    const known = new Set(session?.inputs.map(({ id }) => id))
    const fresh = notes.flatMap((one) => inputsOf(one).map(madeOf)).filter(({ id }) => !known.has(id))
    if (fresh.length === 0) return session
    const empty: Session = { key, agent, inputs: [], dropped: 0, created_ms: now(), updated_ms: now() }
    return { ...(session ?? empty), inputs: [...(session?.inputs ?? []), ...fresh] }
  }

  const write = async (): Promise<void> => {
    if (waiting.size === 0) return
    writing = waiting
    waiting = new Map()
    const left = [...writing]
    try {
      while (left.length > 0) {
        await store.transaction(async (tx) => {
          for (const [, notes] of left.slice(0, sessionsAtOnce))
            await append(tx, notes.name, inputsOf(notes), notes.older)
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
      addNote(notesIn(waiting, name), noted(source, draft))
      cancel ??= after(gatherMs, () => void flush())
    },
    async think(tx, name, source, text) {
      await append(tx, name, [noted(source, { type: 'thought', text, data: null })], 0)
    },
    async peek(name) {
      const found = await Promise.all((await keysOf(name)).map((key) => peekAt(key, name.agent)))
      return merged(found.filter((one) => one !== null))
    },
    async types(name) {
      const keys = await keysOf(name, true)
      const types = keys.flatMap((key) => notesOf(key).flatMap((notes) => [...notes.types.keys()]))
      const stored = await Promise.all(keys.map((key) => getTypes(store, key, { now_ms: now(), ttl_ms })))
      const known = stored.filter((one) => one !== null)
      return known.length === 0 && types.length === 0 ? null : new Set([...known.flat(), ...types])
    },
    async consume(tx, name, decision_id) {
      const found: Session[] = []
      for (const key of await keysOf(name)) {
        const one = await consumeSession(tx, key, decision_id, { now_ms: now(), ttl_ms })
        if (one !== null) found.push(one)
      }
      return merged(found)
    },
    flush,
    expire,
    async close() {
      closed = true
      cancelSweep()
      await flush()
    },
  }
}
