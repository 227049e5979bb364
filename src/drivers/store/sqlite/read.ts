/**
 * Reads of decisions and edges: counts by the counters, lists by an index, documents from the database or the cache of recently read ones.
 */
import type {
  DecisionFilter,
  DecisionReader,
  Edge,
  EdgeReader,
  ReasonGroup,
  StoredText,
} from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import { decisionCounts } from './counting.ts'
import { type GetRow, getSql, storedOf } from './decisions.ts'
import type { Followed } from './follow.ts'
import { decisionLists, type IdPage, type ListQuery } from './lists.ts'
import { type NameKey, nameCounts } from './names.ts'

/** The most list pages to cache, of a few hundred ids each. */
const mostPages = 100
/** The most documents to read without checking the time. */
const mostAtOnce = 100
/** Other calls get a turn each time this has passed. */
const held_ms = 4

/** Runs steps that take long together, and lets other calls run in between. */
export async function inTurns(steps: readonly (() => void)[]): Promise<void> {
  let began = performance.now()
  for (const step of steps) {
    step()
    if (performance.now() - began < held_ms) continue
    await new Promise(setImmediate)
    began = performance.now()
  }
}

export function decisionReader(
  statements: Statements,
  { counters, documents, refresh, refreshTogether }: Followed,
): DecisionReader {
  const { prepare } = statements
  const counts = decisionCounts(statements, counters)
  const names = nameCounts(statements, counters)
  const lists = decisionLists(statements, counters, counts)
  const get = prepare<GetRow, [string]>(getSql)
  const reasons = prepare<ReasonGroup, []>(
    'select type, confidence, outcome, decisions, uses, strength from reason_totals order by type, confidence, outcome',
  )
  const ofSource = prepare<{ id: string }, [string]>('select id from decisions where source_key = ? and gone = 0')

  function textOf(id: string): StoredText | null {
    const known = documents.get(id)
    if (known !== undefined) return known
    const row = get.get(id)
    if (row === null) return null
    const text = storedOf(row)
    documents.set(id, text)
    return text
  }
  /**
   * Reads the days that a count needs one by one before it counts: the first question about the last months reads their days. If no day is
   * missing nothing is awaited, so that a list is answered in the turn in which it was requested.
   */
  async function counting<T>(count: () => T): Promise<T> {
    refresh()
    const { answer, steps } = counters.tried(count)
    if (steps.length === 0) return answer
    await inTurns(steps)
    return count()
  }
  async function countByName(filter: DecisionFilter, by: NameKey): Promise<{ value: string; count: number }[]> {
    const passing = await counting(() => counts.count(filter))
    const { steps, answer } = names(filter, by, passing)
    await inTurns(steps)
    return answer()
  }
  const existing = (ids: readonly string[]): StoredText[] => ids.map(textOf).filter((found) => found !== null)

  async function many(ids: readonly string[]): Promise<StoredText[]> {
    refresh()
    if (ids.length > mostAtOnce) await inTurns(ids.map((id) => () => void textOf(id)))
    return existing(ids)
  }

  const pages = new Map<string, IdPage>()
  let held = ''
  /** A cached page is valid until a decision is written or the counters change. */
  async function pageOf(query: ListQuery): Promise<IdPage> {
    const { seq, generation } = refresh()
    const state = `${seq} ${generation} ${counters.size()} ${counters.position()}`
    if (state !== held) pages.clear()
    held = state
    const key = query.ids === undefined ? JSON.stringify(query) : null
    const known = key === null ? undefined : pages.get(key)
    if (known !== undefined) return known
    const page = await counting(() => lists.page(query))
    if (key !== null && held === state) {
      if (pages.size === mostPages) pages.clear()
      pages.set(key, page)
    }
    return page
  }

  return {
    get(ids) {
      if (ids.length !== 1) return many(ids)
      return refreshTogether().then(() => {
        const found = textOf(ids[0]!)
        return found === null ? [] : [found]
      })
    },
    async find(query) {
      refresh()
      if ('prefix' in query) return lists.findIds(query.prefix, query.limit)
      return ofSource.all(query.source_key).map(({ id }) => id)
    },
    async list(query) {
      const { ids, total } = await pageOf(query)
      return { texts: existing(ids), total }
    },
    async walk(filter, after, limit) {
      refresh()
      return lists.walk(filter, after, limit)
    },
    count: (filter) => counting(() => counts.count(filter)),
    countBy: (filter, by) =>
      by === 'tag' || by === 'project' ? countByName(filter, by) : counting(() => counts.countBy(filter, by)),
    outcomes: (filter, split) => counting(() => counts.outcomes(filter, split)),
    scores: (filter) => counting(() => counts.scores(filter)),
    reasons: async () => reasons.all(),
  }
}

type EdgeRow = Omit<Edge, 'effective'> & { effective: number }
const edgeOf = (row: EdgeRow): Edge => ({ ...row, effective: row.effective === 1 })

export function edgeReader({ prepare }: Statements): EdgeReader {
  const columns = 'source_id, target_id, edge_type, weight, context, created_at, created_by, effective'
  const among = 'in (select value from json_each(?1))'
  const ofTypes = '(?2 is null or edge_type in (select value from json_each(?2)))'
  const ordered = 'order by source_id, target_id, edge_type, created_by limit ?3'
  const select = (where: string) =>
    prepare<EdgeRow, [string, string | null, number]>(
      `select ${columns} from edges where ${where} and ${ofTypes} ${ordered}`,
    )
  const statements = {
    outgoing: select(`source_id ${among}`),
    incoming: select(`target_id ${among}`),
    both: select(`(source_id ${among} or target_id ${among})`),
  }
  const newest = prepare<EdgeRow, [string | null, number]>(
    `select ${columns} from edges where (?1 is null or edge_type in (select value from json_each(?1)))
     order by created_at desc, source_id, target_id, edge_type, created_by limit ?2`,
  )
  return {
    async of(ids, { direction, types, limit }) {
      const names = types === undefined ? null : JSON.stringify(types)
      if (ids === null) return newest.all(names, limit).map(edgeOf)
      return statements[direction].all(JSON.stringify(ids), names, limit).map(edgeOf)
    },
  }
}
