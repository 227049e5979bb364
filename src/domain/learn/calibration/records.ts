/** The records of the agents that ask for approval, in the words of getCalibration. */
import type { Approval } from '../../../../sdk/schema/approval.ts'
import type { Stakes } from '../../../../sdk/schema/decision.ts'
import { outcomeGroups } from '../../../../sdk/storage/groups.ts'
import type { DecisionReader } from '../../../../sdk/storage/store.ts'
import { scoredOf } from '../../../core/figures.ts'
import { assumedStakes } from '../../policy/rules/action.ts'
import { overall } from './report.ts'
import { verdictOn } from './stored-verdict.ts'

/** Approvals with the record of the requester at the stakes of the action; each record is read once. */
export async function withRecords<A extends Pick<Approval, 'requester' | 'action'>>(
  store: { decisions: DecisionReader },
  approvals: readonly A[],
  now_ms: number,
): Promise<(A & Pick<Approval, 'agent_record'>)[]> {
  const recordOf = async (agent: string, stakes: Stakes) => {
    const filter = { agent, stakes: [stakes] }
    const [groups, verdict] = await Promise.all([
      outcomeGroups(store.decisions, { ...filter, scored: true }),
      verdictOn(store, filter, now_ms),
    ])
    return { stakes, overall: overall(scoredOf(groups)), verdict }
  }
  const known = new Map<string, ReturnType<typeof recordOf>>()
  return Promise.all(
    approvals.map(async (one) => {
      const stakes = (one.action.stakes ?? assumedStakes) as Stakes
      const key = JSON.stringify([one.requester, stakes])
      const record = known.get(key) ?? recordOf(one.requester, stakes)
      known.set(key, record)
      return { ...one, agent_record: await record }
    }),
  )
}
