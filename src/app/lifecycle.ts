/** Resources that the program must close, timers for the domain, and the limits on work in progress. */
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { type Admission, createAdmission } from '../calls/admission.ts'
import { describeError, type Log } from '../core/log.ts'

/** How a program is opened. */
export interface Opening {
  /** How long searches wait for the index; by default until it is up to date. */
  search_wait_ms?: number
  /** For a few calls. */
  brief?: boolean
  /** With a new search index. */
  afresh?: boolean
  /** Names the workspace to telemetry; absent for the default one. */
  workspace?: string
  /** An embedder that is open and that others use too. */
  embedder?: Embedder
}

interface Closable {
  close(): Promise<void>
}

interface Closing {
  /** Registers a resource to be closed with the others, and returns it. */
  keep<T extends Closable>(one: T): T
  /** Closes everything in reverse order of opening; a failure is logged and the rest is still closed. */
  close(): Promise<void>
}

export function closing(log: Log): Closing {
  const opened: Closable[] = []
  return {
    keep(one) {
      opened.push(one)
      return one
    },
    async close() {
      for (const one of opened.splice(0).reverse())
        await one.close().catch((error) => log('error', 'closing failed', describeError(error)))
    },
  }
}

/** The store turned out to be an earlier state of itself: nothing that was loaded from it can be relied on. */
export class StoreLost extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'StoreLost'
  }
}

/** Rounds of background work by the second in which they are due, with the one timer of each second. */
const due = new Map<number, { runs: Set<() => void>; timer: NodeJS.Timeout }>()

/**
 * Runs a function once, after `ms`. @returns a function that cancels it
 * @param isRound it need not be on time: those of all programs of the process run together, so that an idle one wakes once a second
 */
export function later(ms: number, run: () => void, isRound = false): () => void {
  if (!isRound || ms < 1_000) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  }
  const now = performance.now()
  const second = Math.round((now + ms) / 1_000)
  const { runs, timer } = due.getOrInsertComputed(second, () => ({
    runs: new Set(),
    timer: setTimeout(() => void runAll(second), second * 1_000 - now),
  }))
  runs.add(run)
  return () => {
    if (!runs.delete(run) || runs.size > 0) return
    clearTimeout(timer)
    if (due.get(second)?.runs === runs) due.delete(second)
  }
}

async function runAll(second: number): Promise<void> {
  const { runs } = due.get(second)!
  due.delete(second)
  for (const run of runs) {
    run()
    // Calls come between them.
    await new Promise(setImmediate)
  }
}

/** Limits on work in progress and on what waits, in costs of calls: 16 searches of one agent at once, 32 in all. */
const workLimits = { capacity: 128, max_waiting: 8_192, max_wait_ms: 10_000 }

export const openAdmission = (): Admission =>
  createAdmission({ ...workLimits, elapsed: () => performance.now(), nextTurn: setImmediate, after: later })
