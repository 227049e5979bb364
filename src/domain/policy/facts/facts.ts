/** Looks up facts about the past of an action: its session, its precedents, the calibration of its agent. */

import { readDecisions } from '../../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { isIndependent } from '../../../../sdk/storage/fields.ts'
import { type Groups, outcomeGroups } from '../../../../sdk/storage/groups.ts'
import type { DecisionReader, KeyedReader } from '../../../../sdk/storage/store.ts'
import { countOf, meanOf, scoredOf } from '../../../core/figures.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import { type Action, EvaluationError, fold } from '../rules/action.ts'
import type { FactGroup, Facts } from '../rules/fact-names.ts'
import { readSession } from './session.ts'

export interface FactTools {
  store: {
    decisions: Pick<DecisionReader, 'get'> & Groups
    /** Null for an earlier time, because sessions are kept only for hours. */
    keyed: KeyedReader | null
  }
  index: Pick<IndexSync, 'once'>
  embedder: Embedder
  signal: AbortSignal
  tracker_ttl_ms: number
}

const precedentsLooked = 50

/** Looks up a group. @param embed the vector of the action's description */
export async function lookUp(
  { store, index, embedder, tracker_ttl_ms: ttl_ms }: FactTools,
  group: FactGroup,
  action: Action,
  now_ms: number,
  embed: () => Promise<Float32Array>,
): Promise<Facts> {
  const { agent_id: agent, category } = action
  if (group === 'session') {
    if (store.keyed === null) throw new EvaluationError('the session of an earlier time is not kept')
    const { actions, classifications, request, observed, full } = await readSession(store.keyed, agent, {
      now_ms,
      ttl_ms,
    })
    // Otherwise an agent could fill its session with other actions first, to hide the ones that follow.
    if (full) throw new EvaluationError('more happened in the session than is kept of it')
    return { actions, classifications, request, observed }
  }
  if (group === 'calibration') {
    const alike = category !== null && { alike: { category: fold(action, category) } }
    const groups = await outcomeGroups(store.decisions, { agent, ...alike })
    const scored = scoredOf(groups.filter(({ settled_by }) => isIndependent(settled_by)))
    const n = countOf(scored)
    return { n, gap: n === 0 ? null : meanOf(scored, ({ value, confidence }) => value - confidence) }
  }
  const hits = await index.once(async (view) => {
    const generation = view.generation()
    if (!generation) return null
    const near = await view.nearest({
      vector: (await embed()).subarray(0, generation.dimensions),
      embedder: embedder.id,
      side: 'both',
      k: precedentsLooked,
      filter: {},
      exact: true,
    })
    return near.filter(({ distance }) => distance <= embedder.precedent_distance)
  }, 'complete')
  if (hits === null) return { n: 0, failed: 0 }
  const near = await readDecisions(
    store.decisions,
    hits.map(({ id }) => id),
  )
  const outcomes = near.map(({ record }) => record.outcome)
  const settled = outcomes.filter((outcome) => outcome !== null && outcome !== 'abandoned')
  return { n: settled.length, failed: settled.filter((outcome) => outcome === 'failure').length }
}
