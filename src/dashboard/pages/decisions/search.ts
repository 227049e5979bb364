/** The search of the address, and its answer from the service. */
import type { Outcome, Stakes, Status } from '../../../../sdk/client.ts'
import { service } from '../../service.ts'

const modes = ['hybrid', 'semantic', 'keyword'] as const
export type Mode = (typeof modes)[number]
const sorts = ['created_at', 'confidence', 'category', 'stakes', 'status'] as const
export type Sort = (typeof sorts)[number]
export type Order = 'asc' | 'desc'

export interface Wanted {
  /** The question; empty for the plain list. */
  q: string
  mode: Mode
  category: string
  stakes: string
  status: string
  outcome: string
  agent: string
  project: string
  tag: string
  /** `yes` for those that enter the figures of calibration; the plain list alone. */
  scored: string
  from: string
  to: string
  sort: Sort
  order: Order
}

export const pageSize = 25

export function wantedIn(query: URLSearchParams): Wanted {
  const text = (name: string) => query.get(name) ?? ''
  const one = <T extends string>(name: string, values: readonly T[]): T =>
    values.find((value) => value === query.get(name)) ?? values[0]!
  return {
    q: text('q'),
    mode: one('mode', modes),
    category: text('category'),
    stakes: text('stakes'),
    status: text('status'),
    outcome: text('outcome'),
    agent: text('agent'),
    project: text('project'),
    tag: text('tag'),
    scored: text('scored'),
    from: text('from'),
    to: text('to'),
    sort: one('sort', sorts),
    order: one('order', ['desc', 'asc']),
  }
}

export interface Row {
  id: string
  title: string
  category: string | null
  stakes: string
  confidence: number | null
  outcome: string | null
  date: string
  agent: string | null
  distance: number | null
  scores: { semantic: number; keyword: number; combined: number } | null
  superseded_by: string | null
}

export interface Found {
  rows: Row[]
  total: number
  offset: number
  ms: number | null
  no_precedent: boolean
  degraded: boolean
  /** Decisions that are searched by meaning, while some are not; null if all are, or if there was no question. */
  partial: { indexed: number; total: number } | null
}

const given = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined | ''> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== '' && value !== undefined)) as never

/** A page of the decisions that match. */
export async function search(wanted: Wanted, page: number, signal: AbortSignal): Promise<Found> {
  const { q, mode, category, stakes, status, outcome, agent, project, tag, scored, from, to, sort, order } = wanted
  const offset = (page - 1) * pageSize
  if (q.trim() === '') {
    const answer = await service.listDecisions(
      {
        limit: pageSize,
        offset,
        sort,
        order,
        ...given({
          category,
          project,
          agent,
          stakes: stakes as Stakes | '',
          status: status as Status | '',
          outcome: outcome as Outcome | '',
          scored: scored === 'yes' ? (true as const) : undefined,
          date_from: from,
          date_to: to,
          tags: tag === '' ? undefined : [tag],
        }),
      },
      { signal },
    )
    const rows = answer.decisions.map((one) => ({
      ...one,
      agent: one.recorded_by,
      distance: null,
      scores: null,
      superseded_by: null,
    }))
    return { rows, total: answer.total, offset, ms: null, no_precedent: false, degraded: false, partial: null }
  }
  const answer = await service.queryDecisions(
    {
      query: q,
      retrieval_mode: mode,
      limit: pageSize,
      offset,
      filters: given({
        category,
        project,
        agent,
        outcome: outcome as Outcome | '',
        stakes: stakes === '' ? undefined : [stakes as Stakes],
        status: status === '' ? undefined : [status as Status],
        date_after: from,
        date_before: to,
        tags: tag === '' ? undefined : [tag],
      }),
    },
    { signal },
  )
  const rows = answer.decisions.map((one) => ({
    ...one,
    agent: null,
    scores: (answer.scores[one.id] as Row['scores'] | undefined) ?? null,
  }))
  const { total, no_precedent, degraded, index, query_time_ms } = answer
  return {
    rows,
    total,
    offset,
    ms: Math.round(query_time_ms),
    no_precedent,
    degraded,
    partial: index.complete ? null : index,
  }
}
