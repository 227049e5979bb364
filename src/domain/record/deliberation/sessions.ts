/**
 * Deliberation sessions in the store. A session is a head and a log of inputs with one record per appended batch: existing inputs are not
 * written again, and servers that append to one session are serialised by its head. Head and log share a key prefix, so that a session is
 * read by one statement.
 */
import { type KeyedReader, type KeyedRecord, keyedPages } from '../../../../sdk/storage/keyed.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'

/** Something that an agent asked, checked or thought. */
export interface SessionInput {
  id: string
  type: string
  text: string
  source: string
  /** RFC 3339, UTC. */
  timestamp: string
  /** Free-form JSON from the call that noted it, such as the best hits of a query. */
  data: unknown
}

/** What an agent has gathered for its next decision. */
export interface Session {
  key: string
  agent: string
  inputs: SessionInput[]
  /** How many inputs were dropped, oldest first, because the session was full. */
  dropped: number
  created_ms: number
  updated_ms: number
}

/** A session that ended in a decision. */
interface ConsumedSession {
  key: string
  agent: string
  decision_id: string
  input_count: number
  consumed_ms: number
}

interface Head {
  agent: string
  created_ms: number
  updated_ms: number
  /** How many inputs were ever appended. */
  total: number
  /** `total` after each batch that is kept: it identifies the batch. */
  ends: number[]
  /** The number of the last input of each type, counted like `total`. */
  last: Record<string, number>
}

/** Names of the collections, for moving them to another store. */
export const sessionCollections = { waiting: 'session', consumed: 'consumed_session' } as const
const { waiting, consumed } = sessionCollections

/** Inputs that a session keeps. */
export const inputsKept = 200
/** Consumed sessions that are kept. */
const consumedKept = 1_000
const expiredAtOnce = 100

// No agent's name contains a line break, and the rest of a session's key is encoded.
const headKey = (key: string): string => `${key}\n`
const batchKey = (head_key: string, end: number): string => `${head_key}${String(end).padStart(12, '0')}`
const batchKeys = (head_key: string, ends: readonly number[]): string[] => ends.map((end) => batchKey(head_key, end))

function sessionOf(
  key: string,
  { agent, created_ms, updated_ms, total }: Head,
  batches: readonly KeyedRecord[],
): Session {
  const inputs = batches.flatMap(({ value }) => value as SessionInput[]).slice(-inputsKept)
  return { key, agent, inputs, dropped: total - inputs.length, created_ms, updated_ms }
}

/** Reads the session of this key, or null. Most records have none, so the head is read by its key first: such look-ups of several callers are combined. */
export async function getSession({ keyed }: Pick<Store, 'keyed'>, key: string): Promise<Session | null> {
  if ((await findHead(keyed, headKey(key))) === null) return null
  const [head, ...batches] = await keyed.list(waiting, { prefix: headKey(key), limit: inputsKept + 1 })
  return head === undefined ? null : sessionOf(key, head.value as Head, batches)
}

/** Types of the inputs in the session of this key, from its head only; null if there is none or it has gone idle. */
export async function getTypes(
  { keyed }: Pick<Store, 'keyed'>,
  key: string,
  { now_ms, ttl_ms }: { now_ms: number; ttl_ms: number },
): Promise<string[] | null> {
  const head = await findHead(keyed, headKey(key))
  if (head === null || isIdle(head, now_ms, ttl_ms)) return null
  return Object.keys(head.last).filter((type) => head.last[type]! > head.total - inputsKept)
}

/** Keys of the sessions that begin so and have not gone idle. Only their heads are read, each of which its inputs follow. */
export async function keysBelow(
  { keyed }: { keyed: Pick<KeyedReader, 'list'> },
  prefix: string,
  { now_ms, ttl_ms }: { now_ms: number; ttl_ms: number },
): Promise<string[]> {
  const keys: string[] = []
  for (let after: string | undefined; ; ) {
    const [head] = await keyed.list(waiting, { prefix, limit: 1, ...(after !== undefined && { after }) })
    if (head === undefined) return keys
    if (!isIdle(head.value as Head, now_ms, ttl_ms)) keys.push(head.key.slice(0, -1))
    after = `${head.key}~`
  }
}

/** Several sessions as one, with the inputs in their order. */
export function merged(all: readonly Session[]): Session | null {
  const [first] = all
  if (first === undefined || all.length === 1) return first ?? null
  return {
    key: first.key,
    agent: first.agent,
    inputs: all
      .flatMap(({ inputs }) => inputs)
      .sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0)),
    dropped: all.reduce((sum, { dropped }) => sum + dropped, 0),
    created_ms: Math.min(...all.map(({ created_ms }) => created_ms)),
    updated_ms: Math.max(...all.map(({ updated_ms }) => updated_ms)),
  }
}

/** All sessions, or those of one agent, most recently updated first. */
export async function listSessions({ keyed }: Pick<Store, 'keyed'>, agent?: string): Promise<Session[]> {
  const records: KeyedRecord[] = []
  for await (const page of keyedPages(keyed, waiting, agent)) records.push(...page)
  const found = [...Map.groupBy(records, ({ key }) => key.slice(0, key.lastIndexOf('\n')))]
  return found
    .map(([key, [head, ...batches]]) => sessionOf(key, head!.value as Head, batches))
    .filter((session) => agent === undefined || session.agent === agent)
    .sort((a, b) => b.updated_ms - a.updated_ms || (a.key < b.key ? -1 : 1))
}

/** The last consumed sessions, newest first; only those of `agent` if it is given. */
export async function listConsumed({ keyed }: Pick<Store, 'keyed'>, agent?: string): Promise<ConsumedSession[]> {
  const records = await keyed.list(consumed, { order: 'desc', limit: consumedKept })
  return records
    .map(({ value }) => value as ConsumedSession)
    .filter((session) => agent === undefined || session.agent === agent)
}

async function findHead(keyed: Pick<KeyedReader, 'get'>, head_key: string): Promise<Head | null> {
  const [found] = await keyed.get(waiting, [head_key])
  return found === undefined ? null : (found.value as Head)
}

const isIdle = ({ updated_ms }: Head, now_ms: number, ttl_ms: number): boolean => updated_ms < now_ms - ttl_ms

/**
 * Adds inputs, starting a session if there is none or it has gone idle; beyond {@link inputsKept} the oldest are dropped.
 * @param older how many inputs before these were dropped already
 */
export async function appendInputs(
  { keyed }: Transaction,
  { key, agent }: { key: string; agent: string },
  inputs: readonly SessionInput[],
  { now_ms, ttl_ms, older = 0 }: { now_ms: number; ttl_ms: number; older?: number },
): Promise<void> {
  const head_key = headKey(key)
  const stored = await findHead(keyed, head_key)
  const ended = stored !== null && isIdle(stored, now_ms, ttl_ms)
  const head: Head =
    stored === null || ended ? { agent, created_ms: now_ms, updated_ms: now_ms, total: 0, ends: [], last: {} } : stored
  const before = head.total + older
  const total = before + inputs.length
  const isKept = (end: number): boolean => end > total - inputsKept
  await keyed.delete(waiting, batchKeys(head_key, ended ? stored.ends : head.ends.filter((end) => !isKept(end))))
  const ends = head.ends.filter(isKept)
  if (inputs.length > 0) {
    await keyed.put(waiting, batchKey(head_key, total), inputs.slice(-inputsKept))
    ends.push(total)
  }
  const last = { ...head.last }
  inputs.forEach(({ type }, at) => {
    last[type] = before + at + 1
  })
  const value: Head = { ...head, updated_ms: now_ms, total, ends, last }
  await keyed.put(waiting, head_key, value, { expires_ms: now_ms + ttl_ms + 1 })
}

/** Ends a session for a decision and returns what it held; null if there is none or it has gone idle. Exactly one transaction gets it. */
export async function consumeSession(
  { keyed }: Transaction,
  key: string,
  decision_id: string,
  { now_ms, ttl_ms }: { now_ms: number; ttl_ms: number },
): Promise<Session | null> {
  const head_key = headKey(key)
  const head = await findHead(keyed, head_key)
  if (head === null || isIdle(head, now_ms, ttl_ms)) return null
  const keys = batchKeys(head_key, head.ends)
  const session = sessionOf(key, head, await keyed.get(waiting, keys))
  await keyed.delete(waiting, [head_key, ...keys])
  const { agent, inputs } = session
  const value: ConsumedSession = { key, agent, decision_id, input_count: inputs.length, consumed_ms: now_ms }
  await keyed.put(consumed, `${String(Math.trunc(now_ms)).padStart(16, '0')} ${decision_id}`, value)
  return session
}

/** Ends idle sessions, and deletes all but the last consumed ones. */
export async function expireSessions(store: Store, now_ms: number): Promise<void> {
  for (let ended = expiredAtOnce; ended === expiredAtOnce; )
    ended = await store.transaction(async ({ keyed }) => {
      const heads = await keyed.expire(waiting, now_ms, expiredAtOnce)
      await keyed.delete(
        waiting,
        heads.flatMap(({ key, value }) => batchKeys(key, (value as Head).ends)),
      )
      return heads.length
    })
  const records = await store.keyed.list(consumed, { order: 'desc', limit: consumedKept + expiredAtOnce })
  const old = records.slice(consumedKept).map(({ key }) => key)
  if (old.length > 0) await store.transaction(({ keyed }) => keyed.delete(consumed, old))
}
