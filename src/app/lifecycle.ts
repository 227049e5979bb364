/** Things to close in the end, the last one that was opened first. */

import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { invalidParams } from '../../sdk/errors.ts'
import type { Observe } from '../calls/dispatch.ts'
import { describeError, type Log } from '../core/log.ts'
import type { Metrics } from '../surfaces/http/metrics.ts'

interface Closable {
  close(): Promise<void>
}

export interface Closing {
  /** Returns what it is given, to be closed with the rest. */
  keep<T extends Closable>(one: T): T
  /** Closes everything; what can't be closed is logged, and keeps nothing else open. */
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

// Timers as the domain asks for them: started with milliseconds and work, ended by what they return.

/** Runs something once. */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** Runs something again and again. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

// What is told of every call: a count and a line of the log, without its parameters and its result.

export const observing =
  (metrics: Metrics, log: Log): Observe =>
  ({ request, code, duration_ms }) => {
    metrics.call(request.method, code, duration_ms)
    log('info', 'call', {
      request_id: request.request_id,
      agent: request.caller.agent,
      // An unknown method is any text at all.
      method: request.method.slice(0, 64),
      duration_ms: Math.round(duration_ms * 1_000) / 1_000,
      code,
    })
  }

// Folders that a caller names, held inside the data directory.

/** A folder inside the data directory, by its path relative to the folder of the decisions; null for anything else. */
export async function folderInside(data_dir: string, given: string): Promise<string | null> {
  const root = await realpath(data_dir)
  const found = await realpath(isAbsolute(given) ? given : resolve(root, given)).catch(() => null)
  if (found === null || !(found === root || found.startsWith(root + sep)) || !(await stat(found)).isDirectory())
    return null
  return found === root ? '' : relative(root, found).split(sep).join('/')
}

/**
 * The same where the decisions lie in a database: their paths are names, and folders are what these begin with.
 * @throws CstpError `invalid_params` for anything else
 */
export function folderOfDecisions(given: string): string {
  const below = given.replace(/^\.\//, '').replace(/\/+$/, '')
  if (/^decisions(?:\/\d{4}(?:\/\d{2})?)?$/.test(below)) return below
  const expected = 'decisions, decisions/<year> or decisions/<year>/<month>: the decisions lie in PostgreSQL'
  throw invalidParams({
    path: 'decisions_path',
    message: `expected ${expected}`,
    expected,
    received: given.slice(0, 100),
  })
}
