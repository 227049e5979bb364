/** The calls of a client that are not answered: judged first, then sent. */
import type { Id } from './messages.ts'

export interface Calls<T> {
  has(id: Id): boolean
  /** The call is being judged. */
  begin(id: Id): void
  /** The call is about to be sent. Returns false if it was cancelled. */
  sent(id: Id, value: T): boolean
  /** Cancels a call that is still judged. Returns false if it was sent already, or is unknown. */
  cancel(id: Id): boolean
  /** Ends a call that is not sent. Returns false if it was cancelled. */
  end(id: Id): boolean
  /** Ends a call that was sent; undefined if there is none. A server can't answer a call that it has not received. */
  answered(id: Id): T | undefined
  /** The call that was sent last: what a server sends on its own belongs to it. */
  latest(): Id | undefined
  withToken(token: unknown, tokenOf: (value: T) => unknown): Id | undefined
  /** Ends all calls that were sent. */
  takeAll(): { id: Id; value: T }[]
}

export function openCalls<T>(): Calls<T> {
  const open = new Map<Id, T | null>()
  const sent = (): [Id, T][] => [...open].filter((one): one is [Id, T] => one[1] !== null)
  return {
    has: (id) => open.has(id),
    begin: (id) => void open.set(id, null),
    sent(id, value) {
      if (!open.delete(id)) return false
      open.set(id, value)
      return true
    },
    cancel: (id) => open.get(id) === null && open.delete(id),
    end: (id) => open.delete(id),
    answered(id) {
      const value = open.get(id)
      if (value === null || value === undefined) return undefined
      open.delete(id)
      return value
    },
    latest: () => sent().at(-1)?.[0],
    withToken: (token, tokenOf) =>
      token === undefined ? undefined : sent().find(([, value]) => tokenOf(value) === token)?.[0],
    takeAll() {
      const all = sent().map(([id, value]) => ({ id, value }))
      for (const { id } of all) open.delete(id)
      return all
    },
  }
}
