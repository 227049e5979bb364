/** Retention rules, read from their file, and the sweep that applies them every hour. */
import { readFile } from 'node:fs/promises'
import type { Store } from '../../sdk/storage/store.ts'
import { causeOf } from '../core/log.ts'
import { type PeriodicJob, startPeriodicJob } from '../core/periodic-job.ts'
import { parseRetention, type RetentionRule } from '../domain/erasure/retention-rules.ts'
import { dueDecisions, type SweepCall, sweep } from '../domain/erasure/sweep.ts'
import { analyse } from '../domain/search/terms.ts'
import type { Settings } from './config/config.ts'
import { openStore } from './drivers.ts'

const every_ms = 3_600_000

/** @throws Error that names the file and each rule that is invalid or contradicts another */
export async function loadRetention({ retention }: Pick<Settings, 'retention'>): Promise<RetentionRule[]> {
  if (retention === null) return []
  const text = await readFile(retention, 'utf8').catch((error: unknown) => {
    throw new Error(`CSTP_RETENTION: ${retention} can't be read: ${causeOf(error)}`)
  })
  const parsed = parseRetention(text, retention)
  if ('rules' in parsed) return parsed.rules
  throw new Error(`The retention rules are invalid:\n${parsed.problems.map((one) => `  ${one}`).join('\n')}`)
}

/** Sweeps at startup and every hour. */
export function startRetention(
  call: Omit<SweepCall, 'stopped'> & {
    after(ms: number, run: () => void): () => void
    failed(error: unknown): void
  },
): PeriodicJob {
  return startPeriodicJob({
    every_ms,
    after: call.after,
    failed: call.failed,
    async work(stop) {
      const done = await sweep({ ...call, stopped: () => stop.aborted })
      return Object.values(done).reduce((sum, count) => sum + count, 0)
    },
  })
}

export interface Due {
  rules: RetentionRule[]
  /** Decisions that the next sweep erases: their number by rule, and the ids of the first few. */
  due: { rule: string; basis: string; decisions: number; first: string[] }[]
}

const shown = 10

/** Previews the next sweep without a server; erases nothing. */
export async function previewRetention(settings: Settings, now = Date.now): Promise<Due> {
  const rules = await loadRetention(settings)
  const log = Object.assign(() => {}, { flush() {} })
  const { store, close } = await openStore(settings, { analyse, now, log, brief: true })
  try {
    return { rules, due: await dueOf(store, rules, now()) }
  } finally {
    await close()
  }
}

async function dueOf(store: Store, rules: readonly RetentionRule[], now_ms: number): Promise<Due['due']> {
  const found = new Map<string, Due['due'][number]>()
  for await (const { fields, rule } of dueDecisions(store, rules, now_ms)) {
    const one = found.get(rule.name) ?? { rule: rule.name, basis: rule.basis, decisions: 0, first: [] }
    found.set(rule.name, one)
    one.decisions++
    if (one.first.length < shown) one.first.push(fields.id)
  }
  return [...found.values()]
}
