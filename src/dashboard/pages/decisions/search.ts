/** The search that an address describes, and its answer from the service. */
import type { GetStatsResult, QueryDecisionsResult } from '../../../../sdk/client.ts'
import {
  type DecisionSort,
  type FilterParams,
  type ParamKind,
  paramName,
  type ShownName,
  shownFilters,
  sortNames,
} from '../../../../sdk/schema/decision-fields.ts'
import { allRows } from '../../csv.tsx'
import type { Query } from '../../route.tsx'
import { service } from '../../service.ts'

const modes = ['hybrid', 'semantic', 'keyword'] as const
export type Mode = (typeof modes)[number]
export type Sort = DecisionSort
/** The first is the default. */
const sorts: readonly Sort[] = ['created_at', ...sortNames]
export type Order = 'asc' | 'desc'

export interface Wanted extends Record<ShownName, string> {
  /** The question; empty for the plain list. */
  q: string
  mode: Mode
  /** `yes` for decisions that count for calibration; plain list only. */
  scored: string
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
    ...(Object.fromEntries(shownFilters.map(({ name }) => [name, text(name)])) as Record<ShownName, string>),
    scored: text('scored'),
    sort: one('sort', sorts),
    order: one('order', ['desc', 'asc']),
  }
}

/** The address of a list. */
export const queryOf = ({ mode, ...rest }: Wanted, page: number): Query => ({
  ...rest,
  mode: mode === 'hybrid' ? null : mode,
  sort: rest.sort === 'created_at' ? null : rest.sort,
  order: rest.order === 'desc' ? null : rest.order,
  page: page > 1 ? page : null,
})

export interface Row {
  id: string
  title: string
  category: string | null
  stakes: string
  confidence: number | null
  outcome: string | null
  date: string
  /** Of the plain list only. */
  created_at?: string
  recorded_by: string | null
  /** Texts that may show why it was found. */
  texts?: string[]
  distance?: number | null
  scores?: { semantic: number; keyword: number; combined: number } | null
  superseded_by?: string | null
}

export interface Found {
  rows: Row[]
  total: number
  offset: number
  /** What only the answer to a question has. */
  answer?: {
    ms: number
    precedent: QueryDecisionsResult['precedent']
    /** Number of rows down to the last precedent; null if it is unknown. */
    precedents: number | null
    degraded: boolean
    /** Decisions of other workspaces that fit. */
    published: NonNullable<QueryDecisionsResult['published']>
    /** Decisions that can be found by meaning, if some can't be yet; null if all can. */
    partial: { indexed: number; total: number } | null
  }
}

/** The value of a parameter, from its text in the address. */
function paramValue({ field: { type }, operator }: (typeof shownFilters)[number], text: string): unknown {
  if (type === 'boolean') return text === 'yes'
  if (type === 'integer' || type === 'real') return Number(text)
  return operator === 'overlaps' ? [text] : text
}

/** The filters that are set, as parameters. */
const paramsOf = <K extends ParamKind>(wanted: Wanted, kind: K): FilterParams<K> =>
  Object.fromEntries(
    shownFilters
      .filter(({ name }) => wanted[name] !== '')
      .map((shown) => [paramName(shown.filter, kind), paramValue(shown, wanted[shown.name])]),
  )

/** The filters of the plain list. */
const listParams = (wanted: Wanted): FilterParams<'list'> & { scored?: true } => ({
  ...paramsOf(wanted, 'list'),
  ...(wanted.scored === 'yes' && { scored: true }),
})

/** Counts of the matching decisions by kind; null if a question ranks only some of them. */
export async function countsOf(wanted: Wanted, signal: AbortSignal): Promise<GetStatsResult | null> {
  const asked = wanted.q.trim() !== ''
  if (asked && wanted.mode === 'keyword') return null
  return service.getStats(listParams(asked ? { ...wanted, scored: '' } : wanted), { signal })
}

/** Values to filter by, over all decisions. */
export const known = (signal: AbortSignal): Promise<GetStatsResult> => service.getStats({}, { signal })

/** A typed name as decisions spell it: an exact match, else one that differs only in letter case. */
export const spelled = (typed: string, names: readonly string[]): string => {
  const folded = (text: string) => text.trim().toLocaleLowerCase()
  if (names.includes(typed.trim())) return typed.trim()
  return names.find((name) => folded(name) === folded(typed)) ?? typed.trim()
}

/** A page of the decisions that match. */
export async function search(wanted: Wanted, page: number, signal: AbortSignal): Promise<Found> {
  const { q, mode, sort, order } = wanted
  const offset = (page - 1) * pageSize
  if (q.trim() === '') {
    const params = { limit: pageSize, offset, sort, order, ...listParams(wanted) }
    const answer = await service.listDecisions(params, { signal })
    return { rows: answer.decisions, total: answer.total, offset }
  }
  const answer = await service.queryDecisions(
    {
      query: q,
      retrieval_mode: mode,
      limit: pageSize,
      offset,
      include_reasons: true,
      include_context: true,
      filters: paramsOf(wanted, 'query'),
    },
    { signal },
  )
  const rows = answer.decisions.map((one) => ({
    ...one,
    texts: [one.context, ...(one.reasons ?? []), one.actual_result, one.lessons].filter(
      (text) => typeof text === 'string',
    ),
    scores: (answer.scores[one.id] as Row['scores'] | undefined) ?? null,
  }))
  const { total, precedent, precedents, degraded, index, query_time_ms, published = [] } = answer
  const partial = index.complete ? null : index
  const ms = Math.round(query_time_ms)
  return { rows, total, offset, answer: { ms, precedent, precedents, degraded, partial, published } }
}

/** Every decision of the plain list, not only the page that is shown. */
export const csvRows = (wanted: Wanted) =>
  allRows(async (offset) => {
    const { sort, order } = wanted
    const { decisions } = await service.listDecisions({ limit: 500, offset, sort, order, ...listParams(wanted) })
    return { rows: decisions, next: decisions.length === 500 ? offset + 500 : null }
  })
