/** One generation's index, kept level with the feed. */
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Feed, FeedEntry, Generation } from '../../../sdk/storage/store.ts'
import type { VectorEntry, VectorIndex } from '../../../sdk/storage/vectors.ts'

export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, data?: Record<string, unknown>) => void

export type Searchable = Pick<VectorIndex, 'nearest' | 'distances' | 'count'>

export interface Followed extends Searchable {
  readonly generation: Generation
  /** The newest change that a search sees. */
  applied(): number
  /** Takes notice of what other processes have applied, where they share the index. */
  look(): Promise<void>
  /** Takes the next changes; when it resolves, searches see them. */
  apply(entries: readonly VectorEntry[], seqs: readonly number[]): Promise<void>
  /** Remembers that there is nothing to take up to `seq`. */
  skipTo(seq: number): void
  /** Changes that the index itself has not taken yet. */
  pending(): number
  flush(): Promise<void>
  close(): Promise<void>
}

const PAGE = 500

/** Reads all that is new in the feed and applies it. */
export async function catchUp(followed: Followed, feed: Feed, breathe: () => Promise<void>, log: Log): Promise<void> {
  const { number } = followed.generation
  const { seq } = await feed.head()
  await followed.look()
  while (followed.applied() < seq) {
    const page = await feed.since(followed.applied(), number, PAGE)
    const seqs = page.map((entry) => entry.seq)
    if (page.length > 0) await applySound(followed, page.map(toEntry), seqs, log)
    if (page.length < PAGE) return followed.skipTo(seq)
    await breathe()
  }
}

function toEntry({ id, fields, vectors }: FeedEntry): VectorEntry {
  if (fields === null || vectors === null) return { id, value: null }
  // In a generation that is still building the store says `indexed: false`, which will not be true once it is searched.
  return { id, value: { fields: fields.indexed ? fields : { ...fields, indexed: true }, vectors } }
}

/** Applies a page; where one vector is refused, all others are applied: a bad row must not stop every search. */
async function applySound(followed: Followed, entries: VectorEntry[], seqs: number[], log: Log): Promise<void> {
  try {
    await followed.apply(entries, seqs)
  } catch (error) {
    if (!isStorageError(error, 'invalid')) throw error
    for (const [i, entry] of entries.entries()) {
      await followed.apply([entry], [seqs[i]!]).catch((refusal) => {
        if (!isStorageError(refusal, 'invalid')) throw refusal
        log('error', 'The vectors of a decision are damaged; reindex to find it by meaning', {
          decision_id: entry.id,
          error: refusal.message,
        })
        return followed.apply([{ id: entry.id, value: null }], [seqs[i]!])
      })
    }
  }
}
