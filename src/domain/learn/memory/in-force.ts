/** What a new agent should know of a project before there is a task: its decisions in force, and its newest failures with their lessons. */
import type { DecisionFilter, Store } from '../../../../sdk/storage/store.ts'
import type { Hit } from '../../record/decision/hits.ts'
import { successorsFirst } from '../../search/precedent.ts'
import { isFailure, type Shown, shownOf, withSuccessors } from './precedents.ts'

export interface ProjectView {
  in_force: Shown[]
  failures: Shown[]
}

/** Most decisions of a project that are read, newest first. */
const maxRead = 60
const maxFailures = 3

/** The newest decisions that pass the filter, each with its successor. */
export async function latestOf(store: Store, filter: DecisionFilter, limit: number): Promise<Shown[]> {
  const page = { sort: 'created_at', order: 'desc', offset: 0, limit } as const
  const { texts } = await store.decisions.list({ filter, ...page })
  const ids = texts.map(({ id }) => id)
  const successors = new Map(
    (await successorsFirst(store, ids, () => true)).map(({ id, superseded_by }) => [id, superseded_by]),
  )
  const hitFor = (text: Hit['text']): Hit => ({
    text,
    distance: null,
    scores: null,
    superseded_by: successors.get(text.id) ?? null,
  })
  return withSuccessors(
    store.decisions,
    texts.map((text) => shownOf(hitFor(text))),
  )
}

const isImportant = ({ hit: { stakes } }: Shown): boolean => stakes === 'high' || stakes === 'critical'

export async function projectView(store: Store, project: string, limit: number): Promise<ProjectView> {
  const latest = await latestOf(store, { project }, maxRead)
  const failed = await latestOf(store, { project, outcome: ['failure', 'partial'] }, 3 * maxFailures)
  const stands = latest.filter(({ hit }) => hit.superseded_by === null && !isFailure(hit))
  return {
    // Much is at stake with few: those are what a newcomer must not miss.
    in_force: [...stands.filter(isImportant), ...stands.filter((one) => !isImportant(one))].slice(0, limit),
    failures: [...failed.filter(({ hit }) => hit.lessons), ...failed.filter(({ hit }) => !hit.lessons)].slice(
      0,
      Math.min(limit, maxFailures),
    ),
  }
}
