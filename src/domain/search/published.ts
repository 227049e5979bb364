/** Decisions that other workspaces have published as precedents. They are shown beside the own hits, and counted in no figure. */
import { type Stakes, stakesValues } from '../../../sdk/schema/decision.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { failureLevel, type Log } from '../../core/log.ts'
import type { Hit } from '../record/decision/hits.ts'
import type { PrecedentState } from './precedent.ts'
import { type SearchInput, type SearchTools, search } from './search.ts'

/** What a workspace publishes: decisions that match every part that is set. */
export interface Publishing {
  publish_categories: readonly string[]
  publish_projects: readonly string[]
  publish_min_stakes: Stakes | null
}

type Tools = Omit<SearchTools, 'signal'>

/** A workspace whose decisions may be read, as far as one of the filters passes them. */
export interface Publisher {
  /** Null for the default workspace. */
  workspace: string | null
  filters: readonly DecisionFilter[]
  use<T>(work: (tools: Tools) => Promise<T>): Promise<T>
}

/** The published decisions as filters; none if nothing is set. */
export function publishedFilters(of: Publishing): DecisionFilter[] {
  const { publish_categories: categories, publish_projects: projects, publish_min_stakes: least } = of
  if (categories.length + projects.length === 0 && least === null) return []
  const stakes = least === null ? {} : { stakes: stakesValues.slice(stakesValues.indexOf(least)) }
  const oneOf = (name: 'category' | 'project', values: readonly string[]): DecisionFilter[] =>
    values.length === 0 ? [{}] : values.map((value) => ({ [name]: value }))
  return oneOf('category', categories).flatMap((category) =>
    oneOf('project', projects).map((project) => ({ ...category, ...project, ...stakes })),
  )
}

/** What passes both filters; null if nothing can. */
function both(given: DecisionFilter, published: DecisionFilter): DecisionFilter | null {
  const differs = (['category', 'project'] as const).some(
    (name) => given[name] !== undefined && published[name] !== undefined && given[name] !== published[name],
  )
  const stakes = (given.stakes ?? published.stakes)?.filter((one) => published.stakes?.includes(one) ?? true)
  return differs || stakes?.length === 0 ? null : { ...given, ...published, ...(stakes && { stakes }) }
}

/** What a search of published decisions needs. */
export interface PublishedTools {
  /** Other workspaces that publish decisions; only in a server. */
  publishers?(): Promise<readonly Publisher[]>
  signal: AbortSignal
  log: Log
}

export interface PublishedHit extends Hit {
  workspace: Publisher['workspace']
  /** How well it fits. */
  state: Exclude<PrecedentState, 'none'>
}

/** The published decisions that fit the question, best first, at most `limit`. A workspace that can't be searched now is left out, and logged. */
export async function searchPublished(
  { publishers, signal, log }: PublishedTools,
  input: SearchInput,
): Promise<PublishedHit[]> {
  const found = await Promise.all(
    ((await publishers?.()) ?? []).map(async ({ workspace, filters, use }) => {
      const wanted = filters.flatMap((one) => both(input.filter, one) ?? [])
      try {
        if (wanted.length === 0) return []
        const answers = await use((tools) =>
          Promise.all(wanted.map((filter) => search({ ...tools, signal }, { ...input, filter }))),
        )
        return answers.flatMap(({ hits, states }) =>
          hits.flatMap((hit, at) => {
            const state = states[at] ?? 'none'
            return state === 'none' ? [] : [{ ...hit, workspace, state }]
          }),
        )
      } catch (error) {
        log(failureLevel(error, { signal }), 'published decisions could not be searched', {
          workspace,
          error: String(error),
        })
        return []
      }
    }),
  )
  const fit = ({ scores, distance }: Hit): number => scores?.combined ?? 1 - (distance ?? 1)
  return found
    .flat()
    .sort((a, b) => fit(b) - fit(a))
    .slice(0, input.limit)
}
