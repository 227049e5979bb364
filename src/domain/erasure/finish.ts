/** The end of an erasure: clears indexes and files. Work that can't be done now stays pending and is retried. */
import { keyedPages } from '../../../sdk/storage/keyed.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { type PeriodicJob, startPeriodicJob } from '../../core/periodic-job.ts'
import type { ActTools } from '../ledger/thread/acts.ts'
import { erasureCollections } from '../record/decision/tombstone.ts'
import type { IndexSync } from '../search/index-sync.ts'
import { type Late, takeLate } from './take.ts'
import { type Target, targetOf } from './target.ts'

/** Stored for an erasure until it is finished. */
export interface PendingErasure {
  ids: string[]
  /** Present until copies written during its search are known to be removed too. */
  late?: Late
}

export interface Scrubbed extends ActTools {
  store: Store
  /** Resolves once other calls have had a turn. */
  yieldToEventLoop(): Promise<void>
  index: Pick<IndexSync, 'purge'>
}

const { unfinished } = erasureCollections

/** @param targets null if their texts are no longer known @returns what is left, in words */
export async function finish(
  call: Scrubbed,
  redaction_record_id: string,
  targets: readonly Target[] | null,
): Promise<string[]> {
  const { store, index } = call
  const [pending] = await store.keyed.get(unfinished, [redaction_record_id])
  const { ids, late } = (pending?.value as PendingErasure | undefined) ?? { ids: [] }
  // A process that ended in between did not remove the late copies; those that name the decisions can still be found.
  if (targets === null && late !== undefined) {
    await takeLate(
      call,
      ids.map((id) => targetOf(id, null)),
      redaction_record_id,
      late,
    )
    await store.transaction(({ keyed }) => keyed.put(unfinished, redaction_record_id, { ids } satisfies PendingErasure))
  }
  const left = (await index.purge(ids)) ? [] : ['the search index']
  // A store looks at all of its pages: a retry does that once, when nothing else is left.
  if (left.length > 0 && targets === null) return left
  left.push(...(await store.scrub()))
  if (left.length === 0) await store.transaction(({ keyed }) => keyed.delete(unfinished, [redaction_record_id]))
  return left
}

/** Unfinished erasures, as the ids of their redactions. */
export async function unfinishedErasures({ keyed }: Pick<Store, 'keyed'>): Promise<string[]> {
  const found: string[] = []
  for await (const page of keyedPages(keyed, unfinished)) found.push(...page.map(({ key }) => key))
  return found
}

const every_ms = 60_000

/** Finishes erasures that another process, possibly a crashed one, has left. */
export const startFinishing = (
  options: Scrubbed & {
    after(ms: number, run: () => void): () => void
    failed(error: unknown): void
  },
): PeriodicJob =>
  startPeriodicJob({
    every_ms,
    after: options.after,
    failed: options.failed,
    async work(stop) {
      let done = 0
      for (const id of await unfinishedErasures(options.store)) {
        if (stop.aborted) break
        if ((await finish(options, id, null)).length === 0) done++
      }
      return done
    },
  })
