/** A queue for a limited resource: queries go before documents, and calls of the same kind take turns. */
import { StorageError } from '../../../../sdk/storage/errors.ts'

/** The error of an embedder that is closed. */
export const closedError = (driver: string): StorageError =>
  new StorageError('unavailable', `The ${driver} embedder is closed`)

/** Works on one item; `signal` is aborted when its call fails or is aborted. */
export type Work<Item, Result> = (item: Item, signal: AbortSignal) => Promise<Result>

export interface Queue<Item, Result> {
  /**
   * The results of the items, in the same order.
   * @throws the signal's reason, or the error of the first item that fails; the rest of the call is then dropped
   */
  run(items: readonly Item[], kind: 'document' | 'query', signal: AbortSignal): Promise<Result[]>
  /** Number of items that are not started yet. */
  waiting(): number
  /** Rejects all open and later calls with `error`. */
  close(error: Error): void
}

interface Call<Item, Result> {
  items: readonly Item[]
  next: number
  left: number
  results: Result[]
  over: AbortController
  resolve(results: Result[]): void
  fail(error: unknown): void
}

/** @param width how many items are worked on at once; called whenever an item could start */
export function openQueue<Item, Result>(width: () => number, work: Work<Item, Result>): Queue<Item, Result> {
  const waiting = { query: [] as Call<Item, Result>[], document: [] as Call<Item, Result>[] }
  const open = new Set<Call<Item, Result>>()
  let running = 0
  let unstarted = 0
  let closed: Error | undefined

  function pump(): void {
    while (running < width()) {
      const line = waiting.query.length > 0 ? waiting.query : waiting.document
      const call = line.shift()
      if (!call) return
      const index = call.next++
      unstarted--
      // To the back of the line: a long call must not hold up a short one.
      if (call.next < call.items.length) line.push(call)
      running++
      step(call, index).finally(() => {
        running--
        pump()
      })
    }
  }

  async function step(call: Call<Item, Result>, index: number): Promise<void> {
    try {
      call.results[index] = await work(call.items[index]!, call.over.signal)
      if (--call.left === 0) call.resolve(call.results)
    } catch (error) {
      call.fail(error)
    }
  }

  return {
    async run(items, kind, signal) {
      signal.throwIfAborted()
      if (closed) throw closed
      if (items.length === 0) return []
      const { promise, resolve, reject } = Promise.withResolvers<Result[]>()
      const over = new AbortController()
      const line = waiting[kind]
      const fail = (error: unknown) => {
        const place = line.indexOf(call)
        if (place >= 0) {
          line.splice(place, 1)
          unstarted -= items.length - call.next
        }
        over.abort(error)
        reject(error)
      }
      const results = new Array<Result>(items.length)
      const call: Call<Item, Result> = { items, next: 0, left: items.length, results, over, resolve, fail }
      const onAbort = () => fail(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      open.add(call)
      line.push(call)
      unstarted += items.length
      pump()
      try {
        return await promise
      } finally {
        open.delete(call)
        signal.removeEventListener('abort', onAbort)
      }
    },
    waiting: () => unstarted,
    close(error) {
      closed = error
      for (const call of open) call.fail(error)
    },
  }
}
