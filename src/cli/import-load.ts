/** Runs an import: first decisions and their outcomes, then the links between them, several at a time. */
import { CstpError } from '../../sdk/errors.ts'
import { eachAtOnce } from '../core/each.ts'
import type { Connection, Result } from './connection.ts'
import { reasonOf } from './failure.ts'
import { contentKey, type ImportLink, type Line, type Place, type Plan, placeOf, planLine } from './import-lines.ts'
import { pages } from './pages.ts'

export interface Summary {
  /** Decisions that were recorded, or would be in a dry run. */
  imported: number
  /** Lines whose decision was already stored. */
  existing: number
  reviewed: number
  linked: number
  /** Invalid lines. */
  skipped: number
  /** Outcomes and links of stored decisions that could not be imported. */
  incomplete: number
  /** Decisions that still wait for their vectors. */
  unindexed: number
  seconds: number
  per_second: number
  dry_run: boolean
  interrupted: boolean
}

export interface LoadOptions {
  /** Null for a dry run, which checks what is possible without a connection. */
  connection: Connection | null
  problem(place: Place, reason: string): void
  progress?(phase: 'decisions' | 'links', done: number, total: number | null): void
  signal?: AbortSignal
}

/** Enough for a store that commits in groups; vectors that take longer are left to the outbox. */
const linesAtOnce = 32
/** How long an import waits for the vectors of the next decision. */
const patience_ms = 5_000
/** Consecutive engine failures after which the import gives up. */
const maxFailures = 20
/** The form of an id, or of an unambiguous part of one. */
const idForm = /^(?:\d{4}-\d{2}-\d{2}-decision-[0-9a-f]{1,12}|[0-9a-f]{8,12})$/

/** A recorded line whose links are not created yet. `before` is the record if it was already stored. */
interface Waiting {
  place: Place
  id: string
  links: ImportLink[]
  before: Result<'getDecision'> | null
}

/** Whether an error would occur for every line: credentials, an unknown method, a lost connection. */
const isFatal = (error: unknown): boolean =>
  !(error instanceof CstpError) || error.error === 'forbidden' || error.error === 'method_not_found'

/** Whether the history of a repository has taken back what it had shown to last. */
const isNews = (review: NonNullable<Plan['review']>, before: Result<'getDecision'>): boolean =>
  review.basis === 'evidence' &&
  before.attribution_basis === 'evidence' &&
  review.outcome === 'failure' &&
  before.outcome === 'success'

/** @throws an error that would affect every line; earlier lines stay imported, and another run continues from there */
export async function load(lines: Iterable<Line> | AsyncIterable<Line>, options: LoadOptions): Promise<Summary> {
  const { connection, problem, progress, signal } = options
  const start = performance.now()
  const counts = { imported: 0, existing: 0, reviewed: 0, linked: 0, skipped: 0, incomplete: 0, unindexed: 0 }
  /** Decision id by source key; empty while the call is in progress. */
  const ids = new Map<string, string>()
  const waiting: Waiting[] = []
  let failedInARow = 0

  const skip = (place: Place, error: unknown) => {
    counts.skipped++
    problem(place, reasonOf(error))
  }

  /** Reports a part of a line that could not be imported although its decision is stored. */
  const leaveOut = (place: Place, part: string, error: unknown) => {
    if (isFatal(error)) throw error
    counts.incomplete++
    problem(place, `${part} was not imported: ${reasonOf(error)}`)
  }

  const store = async (place: Place, { record, review, links }: Plan): Promise<string> => {
    if (!connection) {
      counts.imported++
      if (review) counts.reviewed++
      if (links.length > 0) waiting.push({ place, id: '', links, before: null })
      return 'checked'
    }
    const { decision_id: id, existing, indexed } = await connection.call('recordDecision', record)
    counts[existing ? 'existing' : 'imported']++
    if (!indexed) counts.unindexed++
    const before = existing && (review || links.length > 0) ? await connection.call('getDecision', { id }) : null
    if (review && (before === null || before.status === 'pending' || isNews(review, before))) {
      try {
        const { counts: isCounted } = await connection.call('reviewDecision', { decision_id: id, ...review })
        if (isCounted) counts.reviewed++
      } catch (error) {
        leaveOut(place, 'the outcome', error)
      }
    }
    if (links.length > 0) waiting.push({ place, id, links, before })
    return id
  }

  const one = async (entry: Line): Promise<void> => {
    const place = placeOf(entry)
    if ('problem' in entry) return skip(place, new Error(entry.problem))
    let plan: Plan
    try {
      plan = planLine(entry.value)
    } catch (error) {
      return skip(place, error)
    }
    const key = plan.record.source_key
    if (ids.has(key)) {
      const same = key.startsWith(contentKey) ? 'repeats an earlier line' : `an earlier line has the source ${key}`
      return skip(place, new Error(same))
    }
    ids.set(key, '')
    try {
      ids.set(key, await store(place, plan))
      failedInARow = 0
    } catch (error) {
      if (isFatal(error)) throw error
      ids.delete(key)
      skip(place, error)
      const refused =
        (error as CstpError).error === 'invalid_params' || (error as CstpError).error === 'invalid_request'
      if (!refused && ++failedInARow >= maxFailures)
        throw new Error(`${maxFailures} decisions in a row failed; the last: ${reasonOf(error)}`)
    } finally {
      progress?.('decisions', counts.imported + counts.existing + counts.skipped, null)
    }
  }

  /** Adds decisions of earlier imports that links refer to by source. */
  const lookUp = async (store: Connection): Promise<void> => {
    const targets = waiting.flatMap(({ links }) => links.map(({ target }) => target))
    const missing = new Set(targets.filter((target) => !ids.has(target) && !idForm.test(target)))
    if (missing.size === 0) return
    for await (const { decisions } of pages(store)) {
      for (const { source_key, id } of decisions) {
        if (source_key !== null && missing.delete(source_key)) ids.set(source_key, id)
      }
      if (missing.size === 0) return
    }
  }

  const link = async ({ place, id, links, before }: Waiting): Promise<void> => {
    for (const { target, edge_type, weight, context } of links) {
      const target_id = ids.get(target) ?? (idForm.test(target) ? target : null)
      const there = before?.links.some(
        (one) =>
          one.target_id === target_id &&
          one.edge_type === edge_type &&
          one.weight === weight &&
          one.context === context,
      )
      if (there) continue
      if (target_id === null) {
        counts.incomplete++
        const where = connection ? 'nothing has this source' : 'nothing in this import has this source'
        problem(place, `the link to ${target} was not imported: ${where}`)
        continue
      }
      try {
        await connection?.call('linkDecisions', { source_id: id, target_id, edge_type, weight, context })
        counts.linked++
      } catch (error) {
        leaveOut(place, `the link to ${target}`, error)
      }
    }
  }

  await eachAtOnce(until(lines, signal), linesAtOnce, one)
  if (connection && !signal?.aborted) await lookUp(connection)
  let done = 0
  await eachAtOnce(until(waiting, signal), linesAtOnce, async (item) => {
    await link(item)
    progress?.('links', ++done, waiting.length)
  })
  if (connection && counts.unindexed > 0) counts.unindexed = await unindexedAtLast(connection, counts.unindexed, signal)
  const seconds = (performance.now() - start) / 1_000
  const handled = counts.imported + counts.existing
  return {
    ...counts,
    seconds: Math.round(seconds * 100) / 100,
    per_second: Math.round(handled / Math.max(seconds, 0.001)),
    dry_run: connection === null,
    interrupted: signal?.aborted === true,
  }
}

/** Waits while vectors are made, so that the next search finds what was imported. @returns how many of `unindexed` still have none */
async function unindexedAtLast(connection: Connection, unindexed: number, signal?: AbortSignal): Promise<number> {
  let [left, since] = [unindexed, performance.now()]
  while (left > 0 && !signal?.aborted && performance.now() - since < patience_ms) {
    await Bun.sleep(100)
    const state = { query: 'imported', retrieval_mode: 'keyword', limit: 1 } as const
    const { index } = await connection.call('queryDecisions', state)
    const now = Math.min(unindexed, index.total - index.indexed)
    if (now < left) [left, since] = [now, performance.now()]
  }
  return left
}

/** Yields the items until the signal aborts; work in progress still completes. */
async function* until<T>(items: Iterable<T> | AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  for await (const item of items) {
    if (signal?.aborted) return
    yield item
  }
}
