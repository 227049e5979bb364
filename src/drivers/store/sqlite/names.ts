/** Counts by tag or by project of the decisions that pass a filter: from their rows, some days at a time, because they may be many. */
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { addTo, descending } from '../counts/sums.ts'
import type { Statements } from './connect.ts'
import type { Tallies } from './tallies.ts'
import { runner, whereReader } from './where.ts'

export type NameKey = 'tag' | 'project'

interface NameCount {
  value: string
  count: number
}

/** Decisions that are read in one step: about 8 ms. */
const largestStep = 5_000

/** The tags or projects of the decisions that pass. @param index to use; the planner's choice if null */
export const namesSql = (by: NameKey, where: string, index: string | null): string =>
  `select d.${by === 'tag' ? 'tags' : 'project'} as text from decisions d ${index === null ? '' : `indexed by ${index}`}
   where ${where} and d.${by === 'tag' ? `tags <> '[]'` : 'project is not null'}`

export function nameCounts(statements: Statements, counters: Tallies, most = largestStep) {
  const whereOf = whereReader(statements)
  const all = runner(statements)
  const named = statements.prepare<NameCount, [string]>(
    'select value, decisions as count from value_totals where field = ?',
  )

  /** Spans of whole days, with at most `most` decisions each unless one day has more. */
  function spansOf({ created_from_ms, created_to_ms }: DecisionFilter): [from_ms: number, to_ms: number][] {
    const [from_ms, to_ms] = [created_from_ms ?? Number.NEGATIVE_INFINITY, created_to_ms ?? Number.POSITIVE_INFINITY]
    const spans: [number, number][] = []
    let room = 0
    for (const [day, decisions] of counters.ofDays({ from_ms, to_ms })) {
      const end_ms = Math.min((day + 1) * dayMs - 1, to_ms)
      if (decisions > room || spans.length === 0) spans.push([Math.max(day * dayMs, from_ms), end_ms])
      else spans.at(-1)![1] = end_ms
      room = (decisions > room ? most : room) - decisions
    }
    return spans
  }

  /**
   * @param passing number of decisions that pass
   * @returns steps, and the answer once all of them have run; each decision is counted as it was when its step ran
   */
  return (filter: DecisionFilter, by: NameKey, passing: number): { steps: (() => void)[]; answer(): NameCount[] } => {
    if (isEmptyFilter(filter))
      return { steps: [], answer: () => descending(new Map(named.all(by).map(({ value, count }) => [value, count]))) }
    const counts = new Map<string, number>()
    const read = (part: DecisionFilter, index: string | null): void => {
      const { sql, values } = whereOf(counters.kinds(), part)
      for (const { text } of all<{ text: string }>(namesSql(by, sql, index), values))
        for (const name of by === 'tag' ? new Set<string>(JSON.parse(text)) : [text]) addTo(counts, name, 1)
    }
    const index = filter.project === undefined ? 'decisions_created' : 'decisions_project'
    const steps =
      passing <= most
        ? [() => read(filter, null)]
        : spansOf(filter).map(
            ([created_from_ms, created_to_ms]) =>
              () =>
                read({ ...filter, created_from_ms, created_to_ms }, index),
          )
    return { steps, answer: () => descending(counts) }
  }
}
