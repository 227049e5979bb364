/** One generation's index, kept level with the feed. */
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Feed, FeedEntry, Generation } from '../../../sdk/storage/store.ts'
import { checkEntries } from '../../../sdk/storage/vector-checks.ts'
import type { VectorEntry, VectorHit, VectorIndex } from '../../../sdk/storage/vectors.ts'
import type { LogWriter } from '../../core/log.ts'

export type Searchable = Pick<VectorIndex, 'nearest' | 'distances' | 'count'>

export interface Followed extends Searchable {
  readonly generation: Generation
  /** The newest change that a search sees. */
  applied(): number
  /** Reads what other processes have applied, if they share the index. */
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
export async function catchUp(
  followed: Followed,
  feed: Feed,
  breathe: () => Promise<void>,
  log: LogWriter,
): Promise<void> {
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
  // In a generation that is still building the store has `indexed: false`, which is wrong once it is searched.
  return { id, value: { fields: fields.indexed ? fields : { ...fields, indexed: true }, vectors } }
}

/** Applies a page; if one vector is refused, all others are applied: a bad row must not stop every search. */
async function applySound(followed: Followed, entries: VectorEntry[], seqs: number[], log: LogWriter): Promise<void> {
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

// A followed index whose driver applies fast enough to be awaited.

/** Changes after which the index is maintained again. */
const maintainedEvery = 500

export async function followDirectly(generation: Generation, index: VectorIndex, log: LogWriter): Promise<Followed> {
  let applied = await index.watermark()
  let unmaintained = 0
  let maintaining: Promise<void> | null = null
  let closed = false

  /** In the background: maintenance of a large index may take minutes, and searches are right without it. */
  function maintainAfter(changes: number): void {
    unmaintained += changes
    if (maintaining !== null || closed || unmaintained < maintainedEvery) return
    unmaintained = 0
    maintaining = index
      .maintain()
      .catch((error) => {
        // A close interrupts maintenance.
        if (!closed) log('warn', 'The vector index could not be maintained', { error: String(error) })
      })
      .finally(() => {
        maintaining = null
      })
  }

  maintainAfter(maintainedEvery)
  return {
    generation,
    applied: () => applied,
    async look() {
      applied = Math.max(applied, await index.watermark())
    },
    async apply(entries, seqs) {
      const through = seqs.at(-1) ?? applied
      await index.apply(entries, through)
      applied = Math.max(applied, through)
      maintainAfter(entries.length)
    },
    skipTo(seq) {
      applied = Math.max(applied, seq)
    },
    nearest: (query) => index.nearest(query),
    distances: (query) => index.distances(query),
    count: () => index.count(),
    pending: () => 0,
    flush: async () => {},
    async close() {
      closed = true
      await index.close()
    },
  }
}

// A followed index whose driver is slow to write: new changes are in a resident tail that shadows it, and are written in batches.
//
// The tail must take its calls in the order in which they are made: then what it finds and what `fresh` holds at the call agree.

/** A batch goes to the base when this many changes wait. */
const BATCH = 512
/** More than this many may not wait: then the next change does. */
const MOST = 4_096

interface Change {
  seq: number
  entry: VectorEntry
}

export async function followWithTail(
  generation: Generation,
  base: VectorIndex,
  tail: VectorIndex,
  log: LogWriter,
): Promise<Followed> {
  let applied = await base.watermark()
  const fresh = new Map<string, Change>()
  let flushing: Promise<void> | null = null
  let maintenance: Promise<void> = Promise.resolve()
  let batches = 0
  let closed = false
  const anyVector = new Float32Array(generation.dimensions).fill(1)

  async function flushBatch() {
    batches++
    const batch = [...fresh.values()].sort((a, b) => a.seq - b.seq).slice(0, MOST)
    const through = batch.at(-1)?.seq
    if (through === undefined) return
    // Another process that follows the same store may have been faster.
    if ((await base.watermark()) < through) {
      await base.apply(
        batch.map(({ entry }) => entry),
        through,
      )
    }
    const gone = batch.filter((change) => fresh.get(change.entry.id) === change).map(({ entry }) => entry.id)
    for (const id of gone) fresh.delete(id)
    await tail.apply(
      gone.map((id) => ({ id, value: null })),
      through,
    )
    maintenance = maintenance
      .then(() => (closed ? undefined : base.maintain()))
      .catch((error) => {
        // A close interrupts maintenance: the next one does it.
        if (!closed) log('warn', 'The vector index could not be maintained', { error: String(error) })
      })
  }

  function flush(): Promise<void> {
    flushing ??= flushBatch().finally(() => {
      flushing = null
    })
    return flushing
  }

  function flushSoon() {
    if (flushing) return
    flush().catch((error) => log('warn', 'The vector index took no batch; it is tried again', { error: String(error) }))
  }

  return {
    generation,
    applied: () => applied,
    // What others have applied to the base may shadow what is in this tail: it is taken from the feed all the same.
    look: async () => {},
    async apply(entries, seqs) {
      // Refused here, bad vectors never come to be in a batch.
      checkEntries(entries, generation.dimensions)
      entries.forEach((entry, i) => {
        fresh.set(entry.id, { seq: seqs[i]!, entry })
      })
      await tail.apply(entries, seqs.at(-1) ?? applied)
      applied = Math.max(applied, seqs.at(-1) ?? applied)
      if (fresh.size >= MOST) await flush()
      else if (fresh.size >= BATCH) flushSoon()
    },
    skipTo(seq) {
      applied = Math.max(applied, seq)
    },
    async nearest(query) {
      if (fresh.size === 0 || query.k <= 0) return base.nearest(query)
      const shadowed = new Set(fresh.keys())
      // The tail first: what leaves it meanwhile is in the base by the time that is asked.
      const newest = await tail.nearest(query)
      for (let k = query.k; ; ) {
        const hits = await base.nearest({ ...query, k })
        const kept = hits.filter(({ id }) => !shadowed.has(id))
        if (kept.length >= query.k || hits.length < k) return merge(newest, kept, query.k)
        k += 2 * (hits.length - kept.length)
      }
    },
    async distances(query) {
      if (fresh.size === 0) return base.distances(query)
      const shadowed = new Set(fresh.keys())
      const newest = await tail.distances(query)
      const rest = query.ids.filter((id) => !shadowed.has(id))
      if (rest.length === 0) return newest
      return new Map([...newest, ...(await base.distances({ ...query, ids: rest }))])
    },
    async count() {
      for (;;) {
        await flushing?.catch(() => {})
        const before = batches
        const changed = [...fresh.values()]
        const ids = changed.map(({ entry }) => entry.id)
        const replaced = ids.length === 0 ? 0 : (await base.distances({ vector: anyVector, side: 'both', ids })).size
        const count = (await base.count()) - replaced + changed.filter(({ entry }) => entry.value !== null).length
        // A batch that went over meanwhile may have been counted on both sides, or on none.
        if (before === batches) return count
      }
    },
    pending: () => fresh.size,
    async flush() {
      await flushing?.catch(() => {})
      while (fresh.size > 0) await flush()
    },
    async close() {
      closed = true
      await flushing?.catch(() => {})
      await tail.close()
      await base.close()
    },
  }
}

function merge(a: VectorHit[], b: VectorHit[], k: number): VectorHit[] {
  return [...a, ...b].sort((x, y) => x.distance - y.distance || (x.id < y.id ? -1 : 1)).slice(0, k)
}
