/** The last weeks of each agent: how often its decisions came true, and when one last failed. */
import type { AgentWeeks } from '../../../../sdk/schema/calibration.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { Groups } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { round } from '../../../core/figures.ts'
import { dayMs } from '../../../core/time.ts'

const weekMs = 7 * dayMs
const weeksShown = 12
const keys = ['agent', 'day', 'outcome'] as const

/** By name. A week without a scored decision has no rate. */
export async function agentWeeks(decisions: Groups, filter: DecisionFilter, now_ms: number): Promise<AgentWeeks[]> {
  // Whole UTC days, the last week ends today: a store answers the same question again from memory.
  const from_ms = (Math.floor(now_ms / dayMs) + 1) * dayMs - weeksShown * weekMs
  const groups = await decisions.groups({ ...filter, scored: true, created_from_ms: from_ms }, keys)
  return [...Map.groupBy(groups, ({ agent }) => agent)]
    .map(([agent, own]) => {
      const weeks = Array.from({ length: weeksShown }, () => ({ count: 0, value: 0 }))
      for (const { day, outcome, count } of own) {
        const week = weeks[Math.floor((Date.parse(day) - from_ms) / weekMs)]
        if (week === undefined) continue
        week.count += count
        week.value += count * outcomeValue[outcome!]!
      }
      const failed = own.filter(({ outcome }) => outcome === 'failure').map(({ day }) => day)
      return {
        agent,
        weeks: weeks.map(({ count, value }) => (count === 0 ? null : round(value / count))),
        last_failure: failed.sort().at(-1) ?? null,
      }
    })
    .sort((a, b) => (a.agent < b.agent ? -1 : 1))
}
