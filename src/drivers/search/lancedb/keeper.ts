/**
 * Manages the segments of one generation: opens those that the manifest names, writes a grown tail to a new segment, adopts segments
 * of other processes, and gives up a damaged place, which is then rebuilt from the feed.
 */
import { join } from 'node:path'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry, SearchGeneration } from '../../../../sdk/storage/search.ts'
import { messageOf } from '../../../core/log.ts'
import type { ResidentIndex } from '../resident/index.ts'
import { syncAll } from './durable.ts'
import { openGate } from './gate.ts'
import { clear, drop, sweep } from './leftovers.ts'
import { type Engine, isNative, refuse } from './library.ts'
import { type Held, type Manifest, openManifest, type SegmentFacts } from './manifest.ts'
import type { Place } from './place.ts'
import { type Row, rowsAnd } from './rows.ts'
import { openSegments, type Segment } from './segment.ts'
import { openShadow } from './shadow.ts'
import { everHeld, removeFrom, tablesOf, writeSegment } from './write.ts'

/** A change in the tail, and the current terms of the decision; null if it is gone. */
interface Change {
  seq: number
  terms: string | null
}

/** Rows read from the tail at once. */
const ROWS = 1_000
/** Segments smaller than this many times the new one are merged into it: few segments remain, and each row is copied a few times only. */
const GROWTH = 2

const sameSegments = (a: Manifest, b: Manifest): boolean => JSON.stringify(a.segments) === JSON.stringify(b.segments)

/** The names of a generation's segments begin so. */
export const prefixOf = (generation: number): string => `g${generation}_`

export async function openKeeper(place: Place, generation: SearchGeneration, tail: ResidentIndex) {
  const { log, manifests, now } = place
  const prefix = prefixOf(generation.number)
  const record = openManifest(manifests, () => place.key(generation.number), generation, now)
  let manifest = await record.read()
  let opened: Promise<Segment[]> | null = null
  let applied = manifest.watermark
  /** While a lost place is rebuilt from the feed: the position to reach. */
  let rebuilding_to = 0
  let flushing: Promise<void> | null = null
  let closing = false
  const fresh = new Map<string, Change>()
  const shadow = openShadow()
  const gate = openGate()

  function segments(): Promise<Segment[]> {
    if (manifest.segments.length === 0) return Promise.resolve([])
    opened ??= place.engine().then((engine) => openSegments(engine, manifest.segments))
    opened.catch(() => {
      opened = null
    })
    return opened
  }

  /** Serves these segments from now on. Their decisions are removed from the tail. */
  async function adopt(next: Manifest): Promise<void> {
    await gate.change(async () => {
      const before = await opened?.catch(() => null)
      for (const segment of before ?? []) segment.close()
      opened = null
      manifest = next
      const held = [...fresh].filter(([, { seq }]) => seq <= next.watermark).map(([id]) => id)
      for (const id of held) fresh.delete(id)
      shadow.reset(fresh.keys())
      applied = Math.max(applied, next.watermark)
      await tail.apply(
        held.map((id) => ({ id, value: null })),
        applied,
      )
    })
  }

  /** The segments are lost or unreadable: their decisions are read from the feed again. */
  async function lose(error: unknown): Promise<void> {
    if (closing) return
    log('error', 'Segments of the search index are lost; they are rebuilt from the store', { error: messageOf(error) })
    rebuilding_to = applied
    const empty = { watermark: 0, segments: [] }
    // Without LanceDB the segments are lost to this process only.
    if (!place.absent()) await record.take().then((held) => held?.publish(empty))
    await adopt({ ...manifest, ...empty })
    applied = 0
  }

  /** After a failed search: true if it should be retried. */
  async function recover(error: unknown, attempt: number): Promise<boolean> {
    if (isStorageError(error, 'invalid') || closing || attempt === 3) return false
    const current = await record.read()
    if (!sameSegments(current, manifest)) await adopt(current)
    else if (attempt === 2) {
      if (!place.absent() && !place.isLoss(error)) return false
      await lose(error)
    }
    return true
  }

  async function search<T>(work: (segments: readonly Segment[]) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await gate.search(async () => {
          const all = await segments()
          await shadow.settle(all)
          return work(all)
        })
      } catch (error) {
        if (await recover(error, attempt)) continue
        if (isNative(error)) refuse(error)
        throw error
      }
    }
  }

  function* rowsOf(changes: readonly [string, Change][]): Generator<Row[]> {
    for (let at = 0; at < changes.length; at += ROWS)
      yield changes.slice(at, at + ROWS).flatMap(([id]) => {
        const terms = fresh.get(id)?.terms ?? null
        const value = terms === null ? null : tail.value(id)
        return value === null || terms === null ? [] : [{ id, value: { ...value, terms } }]
      })
  }

  /** Writes the tail to segments while searches run. Changes made in the meantime stay in the tail. */
  async function write(engine: Engine, held: Held, growth: number): Promise<boolean> {
    await sweepAll(engine)
    const [through, changes, lost] = [applied, [...fresh], gone()]
    const all = await segments()
    await shadow.settle(all)
    const kept: SegmentFacts[] = []
    // Erased decisions must not remain in any file: segments that ever held them are rewritten.
    const merged: SegmentFacts[] = []
    for (const segment of all) {
      const hidden = shadow.of(segment)
      const isRewritten = await everHeld(engine, segment.facts, lost)
      const facts = hidden.length === 0 ? segment.facts : await removeFrom(engine, segment, hidden)
      if (facts.decisions > 0) (isRewritten ? merged : kept).push(facts)
    }
    kept.sort((a, b) => a.decisions - b.decisions)
    for (
      let size = changes.length;
      kept.length > 0 && kept[0]!.decisions <= growth * size;
      size += merged.at(-1)!.decisions
    )
      merged.push(kept.shift()!)
    if (closing) return false
    const sources = await openSegments(engine, merged)
    const made = await writeSegment(engine, { ...planned(), rows: rowsOf(changes), merged: sources }).finally(() => {
      for (const source of sources) source.close()
    })
    return publish(engine, held, through, made === null ? kept : [...kept, made], made?.decisions ?? 0)
  }

  /** The options common to all new segments, and a unique name. */
  const planned = () => ({
    name: `${prefix}${crypto.randomUUID().replaceAll('-', '')}`,
    dimensions: generation.dimensions,
    index_from: place.index_from,
  })

  /** Publishes these segments and serves them. False if another process has taken over the lease. */
  async function publish(
    engine: Engine,
    held: Held,
    watermark: number,
    segments: SegmentFacts[],
    decisions: number,
  ): Promise<boolean> {
    const next = { watermark, segments }
    const touched = next.segments.filter((facts) => !manifest.segments.includes(facts))
    if (place.folder !== null)
      for (const { name } of touched)
        for (const table of tablesOf(name)) await syncAll(join(place.folder, `${table}.lance`))
    if (!(await held.publish(next))) return false
    const before = manifest.segments
    await adopt({ ...manifest, ...next })
    const names = new Set(next.segments.map((facts) => facts.name))
    await drop(
      engine,
      before.map(({ name }) => name).filter((name) => !names.has(name)),
    )
    log('info', 'A segment of the search index was written', { decisions, segments: names.size })
    return true
  }

  /** Writes the tail and everything up to `watermark` as the first segment. */
  async function fillOnce(pages: AsyncIterable<readonly SearchEntry[]>, watermark: number): Promise<boolean> {
    const engine = place.absent() ? null : await place.engine().catch(() => null)
    const held = engine === null ? null : await record.take()
    if (engine === null || held === null) return false
    let published = false
    try {
      if (!sameSegments(held.manifest, manifest)) await adopt(held.manifest)
      if (manifest.segments.length > 0) return false
      await sweepAll(engine)
      const rows = rowsAnd(rowsOf([...fresh]), pages, generation.dimensions)
      const made = await writeSegment(engine, { ...planned(), rows, merged: [] })
      published = made !== null && !closing && (await publish(engine, held, watermark, [made], made.decisions))
      return published
    } finally {
      if (!published) await held.release()
    }
  }

  const sweepAll = (engine: Engine) => sweep(engine, prefix, new Set(manifest.segments.map(({ name }) => name)))

  /** Decisions erased since the segments were written. */
  const gone = (): string[] => [...fresh].flatMap(([id, { terms }]) => (terms === null ? [id] : []))

  async function flushOnce(growth: number): Promise<void> {
    if (place.absent()) return
    const engine = await place.engine().catch((error) => {
      if (!place.absent()) throw error
      const decisions = fresh.size
      log('warn', 'The store has outgrown the memory limit of searches', {
        decisions,
        error: messageOf(error),
      })
      return null
    })
    if (engine === null) return
    const held = await record.take()
    if (held === null) return
    try {
      if (!sameSegments(held.manifest, manifest)) await adopt(held.manifest)
      if (fresh.size > 0 && (await write(engine, held, growth))) return
    } catch (error) {
      log('warn', 'A segment of the search index was not written; it will be retried', { error: messageOf(error) })
    }
    await held.release()
  }

  return {
    search,
    shadow,
    fresh,
    /** Everything up to here is in the segments or the tail. */
    applied: () => applied,
    building: () => applied < rebuilding_to,
    facts: () => manifest.segments,
    isHidden: (id: string) => fresh.has(id),
    gone,
    /** Whether the segments contain none of these erased decisions. */
    async purge(ids: readonly string[]): Promise<boolean> {
      // A segment that is being written may contain them.
      await flushing?.catch(() => {})
      const current = await record.read()
      if (!sameSegments(current, manifest)) await adopt(current)
      if (manifest.segments.length === 0) return clear(place, record, prefix)
      const left = () => gone().some((id) => ids.includes(id))
      if (left()) await this.flush()
      return !left()
    },
    took(id: string, seq: number, terms: string | null): void {
      fresh.set(id, { seq, terms })
      shadow.add(id)
      applied = Math.max(applied, seq)
    },
    skipTo(seq: number): void {
      applied = Math.max(applied, seq)
    },
    /** Writes the tail to segments, one call at a time. @param growth 0 merges no existing segment, which is fast */
    flush(growth = GROWTH): Promise<void> {
      flushing ??= flushOnce(growth).finally(() => {
        flushing = null
      })
      return flushing
    },
    /** See {@link SearchIndex.fill}. Only while there are no segments: a decision must not be in two of them. */
    async fill(pages: AsyncIterable<readonly SearchEntry[]>, watermark: number): Promise<boolean> {
      await flushing?.catch(() => {})
      if (manifest.segments.length > 0) return false
      const filled = fillOnce(pages, watermark)
      flushing = filled
        .then(
          () => {},
          () => {},
        )
        .finally(() => {
          flushing = null
        })
      return filled
    },
    async close(): Promise<void> {
      closing = true
      await flushing?.catch(() => {})
      await gate.change(async () => {
        for (const segment of (await opened?.catch(() => null)) ?? []) segment.close()
        opened = null
      })
    },
  }
}
