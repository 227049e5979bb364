/**
 * Group commit: waiting drafts are compared with the tables and written by one database transaction, in two round trips. A group never
 * waits for a lock: a draft is left out if its locks are held by others, or if something it has read has changed.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { rowsOf } from '../../shared/postgres/rows.ts'
import { type Draft, type Found, locksOf, writesOf } from './draft.ts'
import { announceChanges } from './feed.ts'
import { openLanes } from './lanes.ts'
import { namesHeld } from './locks.ts'
import type { Fate } from './transaction.ts'
import { changesOf, send } from './writes.ts'

/** The most drafts in a group: the engine has room for a limited number of locks. */
const largestGroup = 48
/** How often a draft is left to the next group before it waits for its locks. */
const mostContested = 3
/** Concurrent groups: if many drafts wait, one group is prepared while another becomes durable. */
const lanes = { lanes: 2, least: 16, patience: 1, longest_ms: 50 }

/** All statements find rows by key, so one generic plan suits every group; the planner would replan most of them each time. */
const beginning = `${announceChanges}; set local plan_cache_mode = force_generic_plan`

interface Job {
  draft: Draft
  locks: Map<string, boolean>
  /** How often it was left out because another transaction held a lock. */
  contested: number
  resolve(fate: Fate): void
  reject(error: unknown): void
}

/** For each kind of read, the query for rows of `wanted` that have changed. */
const comparisons: { [Kind in Found['kind']]: { types: string[]; columns: string; differs: string } } = {
  decision: {
    types: ['text', 'int', 'bool'],
    columns: 'id, revision, indexed',
    differs: `left join decisions d on d.id = wanted.id left join changes c on c.num = d.num
      where coalesce(wanted.revision <> coalesce(d.revision, 0), d.id is null) or wanted.indexed <> c.indexed`,
  },
  source: {
    types: ['text', 'text', 'text'],
    columns: 'key, one, other',
    differs: `left join decisions d on d.source_key = wanted.key
      where d.id is distinct from wanted.one and d.id is distinct from wanted.other`,
  },
  keyed: {
    types: ['text', 'text', 'int'],
    columns: 'collection, key, version',
    differs: `left join keyed_records k on k.collection = wanted.collection and k.key = wanted.key
      where coalesce(k.version, 0) <> wanted.version`,
  },
  generations: {
    types: ['text'],
    columns: 'text',
    differs: `where text <> (select coalesce(string_agg(number || ' ' || state, ',' order by number), '') from generations)`,
  },
}

function valuesOf(found: Found): unknown[] {
  if (found.kind === 'decision') return [toText(found.id), found.revision, found.indexed]
  if (found.kind === 'source') return [toText(found.key), ...found.holders]
  if (found.kind === 'keyed') return [found.collection, toText(found.key), found.version]
  return [found.text]
}

/** Indexes of the drafts whose reads are outdated. */
async function outdated(query: Query, drafts: readonly Draft[]): Promise<number[]> {
  const all = drafts.flatMap(({ found }, place) => [...found.values()].map((one) => ({ place, one })))
  const values: unknown[] = []
  const parts = [...Map.groupBy(all, ({ one }) => one.kind)].map(([kind, some]) => {
    const { types, columns, differs } = comparisons[kind]
    const wanted = some.map(({ place, one }) => [place, ...valuesOf(one)])
    const [rows, more] = rowsOf(['int', ...types], wanted, values.length)
    values.push(...more)
    return `select place from ${rows} as wanted (place, ${columns}) ${differs}`
  })
  if (parts.length === 0) return []
  const found = await query<{ place: number }>(parts.join(' union all '), values)
  return found.map(({ place }) => place)
}

/** Returns a test for jobs whose locks another transaction holds. All other locks are held from here on. */
async function contested(query: Query, jobs: readonly Job[]): Promise<(job: Job) => boolean> {
  const names = new Map(jobs.flatMap(({ locks }) => [...locks]))
  const alone = new Set(jobs.flatMap(({ locks }) => [...locks].flatMap(([name, only]) => (only ? name : []))))
  const wanted = [...names.keys()]
  if (wanted.length === 0) return () => false
  const rows = await query<{ name: string }>(namesHeld, [wanted.map(toText), wanted.map((name) => alone.has(name))])
  const held = new Set(rows.map(({ name }) => name))
  return ({ locks }) => held.size > 0 && locks.keys().some((name) => held.has(toText(name)))
}

/** Takes the jobs that can run together, in order. A job that waits for one of them and has read what that one changes is lost. */
function takeGroup(queue: Job[]): { taken: Job[]; lost: Job[] } {
  const taken: Job[] = []
  const lost: Job[] = []
  const names = new Map<string, boolean>()
  const left: Job[] = []
  for (const job of queue.splice(0)) {
    const clashes = [...job.locks].filter(([name, only]) => names.has(name) && (only || names.get(name)))
    if (clashes.some(([name]) => names.get(name) && job.draft.found.has(name))) lost.push(job)
    else if (clashes.length > 0 || taken.length === largestGroup) left.push(job)
    else {
      taken.push(job)
      for (const [name, only] of job.locks) names.set(name, only || names.get(name) === true)
    }
  }
  queue.push(...left)
  return { taken, lost }
}

/** @param written called with the number of decisions that a group has changed */
export function groupCommit(client: Client, written: (changes: number) => void): (draft: Draft) => Promise<Fate> {
  /** Usually a group of another server holds the lock, and is done when the next group begins here. */
  function leave(job: Job): void {
    if (++job.contested > mostContested) job.resolve('contested')
    else add(job)
  }

  async function run(jobs: readonly Job[]): Promise<void> {
    let kept: readonly Job[] = []
    let lost = new Set<Job>()
    try {
      await client.begin(async (query, finish) => {
        const [isContested, late] = await Promise.all([
          contested(query, jobs),
          outdated(
            query,
            jobs.map(({ draft }) => draft),
          ),
        ])
        lost = new Set(late.map((place) => jobs[place]!))
        kept = jobs.filter((job) => !lost.has(job) && !isContested(job))
        const drafts = kept.map(({ draft }) => draft).filter((draft) => writesOf(draft) > 0)
        await finish(send(query, drafts, 0))
      }, beginning)
      written(changesOf(kept.map(({ draft }) => draft)).length)
      for (const job of jobs)
        if (kept.includes(job)) job.resolve('kept')
        else if (lost.has(job)) job.resolve('outdated')
        else leave(job)
    } catch (error) {
      for (const job of jobs) {
        // Nothing was kept. Each draft runs again by itself to find the one at fault, except if the database is unavailable or the
        // connection was lost during the commit.
        const isOver = isStorageError(error) && (!error.unclear || kept.includes(job))
        if (isOver) job.reject(error)
        else job.resolve('contested')
      }
    }
  }

  const add = openLanes<Job>(lanes, async (queue) => {
    const { taken, lost } = takeGroup(queue)
    if (taken.length > 0) await run(taken)
    for (const job of lost) job.resolve('outdated')
  })
  return (draft) =>
    new Promise((resolve, reject) => add({ draft, locks: locksOf(draft), contested: 0, resolve, reject }))
}
