/** The calls of a client that are not answered: judged first, then sent. */
import type { Id } from './messages.ts'

/** Most entries of what is remembered for a client: of calls without an end, tasks, and questions of servers. */
const most = 1_000

/** Adds an entry; returns the oldest one, which is forgotten for it. */
export function remember<K, V>(known: Map<K, V>, key: K, value: V): V | undefined {
  known.set(key, value)
  const [oldest, forgotten] = known.entries().next().value!
  return known.size > most && known.delete(oldest) ? forgotten : undefined
}

export interface Calls<T> {
  has(id: Id): boolean
  /** Whether the call is being judged, and was not cancelled. */
  isWanted(id: Id): boolean
  /** The call is being judged. */
  begin(id: Id): void
  /** The call is about to be sent. Returns false if it was cancelled. */
  sent(id: Id, value: T): boolean
  /** Cancels a call that is still judged. Returns false if it was sent already, or is unknown. Its id stays in use until its judgement ends. */
  cancel(id: Id): boolean
  /** Ends a call that is not sent. Returns false if it was cancelled. */
  end(id: Id): boolean
  /** Ends a call that was sent; undefined if there is none. A server can't answer a call that it has not received. */
  answered(id: Id): T | undefined
  /** The call that was sent last: what a server sends on its own belongs to it. */
  latest(): Id | undefined
  withToken(token: unknown, tokenOf: (value: T) => unknown): Id | undefined
  sentIds(): Id[]
}

export function openCalls<T>(): Calls<T> {
  /** Calls that are judged, by whether they are still wanted. */
  const judged = new Map<Id, boolean>()
  const sent = new Map<Id, T>()
  const end = (id: Id): boolean => {
    const isWanted = judged.get(id) === true
    judged.delete(id)
    return isWanted
  }
  return {
    has: (id) => judged.has(id) || sent.has(id),
    isWanted: (id) => judged.get(id) === true,
    begin: (id) => void judged.set(id, true),
    sent(id, value) {
      if (!end(id)) return false
      sent.set(id, value)
      return true
    },
    cancel(id) {
      if (!judged.has(id)) return false
      judged.set(id, false)
      return true
    },
    end,
    answered(id) {
      const value = sent.get(id)
      sent.delete(id)
      return value
    },
    latest: () => [...sent.keys()].at(-1),
    withToken: (token, tokenOf) =>
      token === undefined ? undefined : [...sent].find(([, value]) => tokenOf(value) === token)?.[0],
    sentIds: () => [...sent.keys()],
  }
}
