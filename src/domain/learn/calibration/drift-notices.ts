/** Notices of drift: an agent whose recent decisions are proven to be calibrated worse than earlier ones is reported once, across all servers and restarts. */
import type { Store } from '../../../../sdk/storage/store.ts'
import { type PeriodicJob, startPeriodicJob } from '../../../core/periodic-job.ts'
import { dayMs } from '../../../core/time.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { queueNotice } from '../../record/approval/notices.ts'
import { driftingAgents } from './drift-periods.ts'

/** Name of the collection, for moving it to another store. */
export const driftCollection = 'drift_notice'

/** What was reported about an agent. */
interface Reported {
  /** When its drift was last proven, to the day. */
  seen_ms: number
}

/** A finding ends when it has not been proven for this long: the periods move every day, and drift that comes and goes with them is one finding. */
const endsAfterMs = 14 * dayMs
const listed = 10_000

export interface DriftTools {
  store: Store
  approvalContext: Desk
  /** Resolves once other work has had a turn. */
  yieldToEventLoop(): Promise<void>
}

/** Queues a notice for each agent whose drift is newly proven; returns how many. */
export async function reportDrift({ store, approvalContext, yieldToEventLoop }: DriftTools): Promise<number> {
  const now_ms = approvalContext.now()
  const found = await driftingAgents({ store, yieldToEventLoop }, now_ms)
  const known = new Map(
    (await store.keyed.list(driftCollection, { limit: listed })).map(({ key, value }) => [key, value as Reported]),
  )
  const names = new Set(found.map(({ name }) => name))
  const over = [...known].filter(([name, { seen_ms }]) => !names.has(name) && now_ms - seen_ms >= endsAfterMs)
  const fresh = found.filter(({ name }) => !known.has(name))
  const seen = found.filter(({ name }) => now_ms - (known.get(name)?.seen_ms ?? now_ms) >= dayMs)
  if (over.length + fresh.length + seen.length === 0) return 0
  await store.transaction(async (tx) => {
    const now: Reported = { seen_ms: now_ms }
    for (const { name: agent, alerts, recommendation } of fresh) {
      // If another server has reported it since, this transaction fails and the next round finds it known.
      await tx.keyed.put(driftCollection, agent, now, { version: 0 })
      const url = approvalContext.pageUrl(`calibration?agent=${encodeURIComponent(agent)}`)
      await queueNotice(tx, approvalContext, 'calibration.drift', { agent, alerts, recommendation, url })
    }
    for (const { name } of seen) await tx.keyed.put(driftCollection, name, now)
    if (over.length > 0)
      await tx.keyed.delete(
        driftCollection,
        over.map(([name]) => name),
      )
  })
  return fresh.length
}

const roundMs = 3_600_000

/** Checks for drift now and every hour. */
export const startDriftReports = (
  tools: DriftTools & { after(ms: number, run: () => void): () => void; failed(error: unknown): void },
): PeriodicJob =>
  startPeriodicJob({ every_ms: roundMs, after: tools.after, work: () => reportDrift(tools), failed: tools.failed })
