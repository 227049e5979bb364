/** cstp.ready: what needs attention next. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { ReadyAction } from '../../sdk/schema/memory.ts'
import { whole } from '../../sdk/schema/params.ts'
import { readDecisions } from '../../sdk/storage/decisions.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { actionTypes, priorities, readyActions } from '../domain/learn/memory/ready.ts'
import { proposalOf } from '../domain/lifecycle/proposal.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

/** What models may ask for. */
const toolFields = {
  min_priority: v.pipe(v.optional(v.picklist(priorities), 'low'), d('Minimum priority.')),
  action_types: v.optional(v.pipe(v.array(v.picklist(actionTypes)), d('Only these types.'))),
  order: v.pipe(
    v.optional(v.picklist(['urgent', 'newest']), 'urgent'),
    d('Most urgent first (then oldest), or newest first with current conditions at the top.'),
  ),
  offset: v.pipe(v.optional(whole(0, 100_000), 0), d('Number of actions to skip.')),
  limit: v.optional(whole(1, 200), 20),
  category: v.optional(v.pipe(nonEmptyText(64), d('Only this category.'))),
  agent: v.optional(v.pipe(nonEmptyText(256), d('Decisions of this agent.'))),
}

export const ready = defineMethod({
  summary: 'Lists due actions: due reviews, decisions left pending, drift, open breakers and contradictions.',
  params: v.object({
    ...toolFields,
    project: v.optional(v.pipe(nonEmptyText(256), d('Decisions of this project.'))),
    sample: v.optional(
      v.pipe(
        whole(1, 100),
        d('Only so many of the due reviews: those whose outcomes tell most about how reliable agents are.'),
      ),
    ),
  }),
  result: v.object({
    actions: v.pipe(v.array(ReadyAction), d('The matching actions, in the requested order.')),
    total: v.pipe(v.number(), d('Number of all due actions, regardless of types and priority.')),
    by_type: v.pipe(
      v.record(v.string(), v.number()),
      d('The same number by type; types without actions are left out.'),
    ),
    filtered: v.pipe(v.number(), d('Number of actions left out by the filters or the limit.')),
    sample: v.optional(
      v.pipe(
        v.object({
          shown: v.pipe(v.number(), d('Due reviews in the sample.')),
          of: v.pipe(v.number(), d('Due reviews that it was drawn from.')),
          by_agent: v.pipe(v.record(v.string(), v.number()), d('The same number by agent.')),
          share: v.pipe(v.number(), d('Its information, as a share of that of all of them.')),
        }),
        d('The drawn sample; only with `sample`.'),
      ),
    ),
    warnings: v.pipe(v.array(v.string()), d('Parts that could not be read.')),
  }),
  scope: 'read',
  effect: 'read',
  cost: 32,
  mcp: {
    name: 'ready',
    title: 'List due actions',
    description:
      'List what needs attention, most urgent first: due and overdue reviews, calibration drift, open breakers, contradictions.',
    input: toolInput(v.object(toolFields), (input) => input),
  },
  async handle(call, { min_priority, action_types, order, offset, limit, category, agent, project, sample }) {
    const { store, policy, now } = call
    const { breakers } = await policy.current()
    const types = action_types?.length ? action_types : actionTypes
    const found = await readyActions(
      { store, breakers, now_ms: now() },
      { filter: given({ category, agent, project }), types, min_priority, order, offset, limit, sample },
    )
    const ids = found.actions.flatMap(({ type, decision_id }) => (type === 'contradiction' ? [] : (decision_id ?? [])))
    const records = await readDecisions(store.decisions, ids)
    const proposals = new Map(
      await Promise.all(records.map(async ({ record }) => [record.id, await proposalOf(call, record)] as const)),
    )
    const actions = found.actions.map((action) => {
      const proposal = action.type === 'contradiction' ? null : proposals.get(action.decision_id ?? '')
      return proposal ? { ...action, proposal } : action
    })
    return { ...found, actions }
  },
})
