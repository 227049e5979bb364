/**
 * Decisions that another version of this program indexed, which searched other texts of them or analysed words differently: their terms are
 * rebuilt and their vectors queued, in the background. What they had is searched until then.
 */
import { decisionPages, readDecisions } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Store, StoredDecision, Transaction } from '../../../sdk/storage/store.ts'
import { type PeriodicJob, startPeriodicJob } from '../../core/periodic-job.ts'
import { queueVectors } from './embeddings.ts'
import { embeddedTexts } from './searched.ts'
import { analyse } from './terms.ts'

/** What the decisions of a store are indexed by: changes with every change of the texts or of their analysis. */
const mark = { collection: 'search_texts', key: 'made_by' }

/** Notes that all decisions are indexed by what this program searches. */
export const markTexts = ({ keyed }: Pick<Transaction, 'keyed'>, made_by = madeByThis): Promise<void> =>
  keyed.put(mark.collection, mark.key, made_by)
/** Decisions that are written at once. */
const page = 64
const every_ms = 60_000

interface FollowOptions {
  store: Pick<Store, 'decisions' | 'keyed' | 'transaction'>
  now(): number
  /** Calls back after `ms` milliseconds; returns a function that cancels this. */
  after(ms: number, run: () => void): () => void
  yieldToEventLoop(): Promise<void>
  failed(error: unknown): void
  /** What is searched of decisions by this program. */
  made_by?: string
}

/** Text with everything that an analysis may treat in its own way, in every field that may be searched. */
const sample = {
  decision: 'Querying getURLs by user_id: retries, 数据库 and Café',
  context: 'context',
  pattern: 'pattern',
  category: 'category',
  reasons: [
    { type: 'analysis', text: 'strongest', strength: 0.9 },
    { type: 'risk', text: 'another', strength: 0.1 },
  ],
  alternatives_considered: ['rejected', { option: 'option', reason: 'reason' }],
  tags: ['tag'],
  actual_result: 'result',
  lessons: 'lesson',
  review_notes: 'notes',
  bridge: { structure: 'structure', function: 'function', tolerance: [], enforcement: [], prevention: [] },
  bridge_method: 'given',
} as unknown as Parameters<typeof analyse>[0]

const madeByThis = JSON.stringify([analyse(sample), embeddedTexts(sample)])

/** Rounds until every decision is indexed by what this program searches; each resolves with the number of decisions that it queued. */
export function followTexts({ store, made_by = madeByThis, ...options }: FollowOptions): PeriodicJob {
  const { now, after, yieldToEventLoop, failed } = options
  let done = false

  /** False if it changed meanwhile; its change has indexed it. */
  async function one({ record, revision }: StoredDecision): Promise<boolean> {
    try {
      await store.transaction(async (tx) => {
        await tx.decisions.put(record, revision, revision)
        await queueVectors(tx, record.id, now())
      })
      return true
    } catch (error) {
      if (isStorageError(error, 'conflict') || isStorageError(error, 'not_found')) return false
      throw error
    }
  }

  async function work(stop: AbortSignal): Promise<number> {
    if (done) return 0
    const [known] = await store.keyed.get(mark.collection, [mark.key])
    let queued = 0
    if (known?.value !== made_by)
      for await (const found of decisionPages(store.decisions, {}, page)) {
        const ids = found.map(({ id }) => id)
        if (stop.aborted) return queued
        // Without a mark: indexed before what came of a decision was searched. Others are indexed alike.
        const due = (await readDecisions(store.decisions, ids)).filter(
          ({ record }) => known !== undefined || hasMore(record),
        )
        queued += (await Promise.all(due.map(one))).filter(Boolean).length
        await yieldToEventLoop()
      }
    if (known?.value !== made_by) await store.transaction((tx) => markTexts(tx, made_by))
    done = true
    return queued
  }

  return startPeriodicJob({ every_ms, after, work, failed })
}

/** Whether a decision has texts that the first version did not search. */
const hasMore = ({
  actual_result,
  lessons,
  alternatives_considered,
  bridge_method,
}: StoredDecision['record']): boolean =>
  actual_result !== null || lessons !== null || alternatives_considered.length > 0 || bridge_method === 'given'
