/** cstp.getBriefing: what changed since a time, what got worse, and what was learnt. */
import * as v from 'valibot'
import { Briefing } from '../../sdk/schema/briefing.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { boundMs, DateBound } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { seesStops } from '../core/caller.ts'
import { dayMs } from '../core/time.ts'
import { briefingOf } from '../domain/learn/memory/briefing.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

export const getBriefing = defineMethod({
  summary:
    'Summarizes what changed since a time: decisions, failures and their common cause, rules, agents, stopped actions, the success rate by week and lessons.',
  params: v.object({
    since: v.optional(v.pipe(DateBound, d('On or after this day or time; by default the last 24 hours.'))),
    agent: v.optional(v.pipe(nonEmptyText(256), d('Only decisions of this agent.'))),
    project: v.optional(v.pipe(nonEmptyText(256), d('Only decisions of this project.'))),
  }),
  result: Briefing,
  scope: 'read',
  effect: 'read',
  cost: 64,
  async handle({ store, policy, caller, now, yieldToEventLoop }, { since, ...rest }) {
    const now_ms = now()
    const since_ms = (since === undefined ? null : boundMs(since, false)) ?? now_ms - dayMs
    const { breakers } = await policy.current()
    const only = seesStops(caller) ? {} : { only: caller.agent }
    return briefingOf({ store, breakers, now_ms, yieldToEventLoop, ...only }, given(rest), since_ms)
  },
})
