/** cstp.recordThought: records reasoning, before or after a decision. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { DecisionId, trackedParams } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { timestamp } from '../core/time.ts'
import { requireSize, withThought } from '../domain/record/decision/decision.ts'
import { requireOwn, resolveId } from '../domain/record/decision/lookup.ts'
import { sessionOf } from '../domain/record/deliberation/inputs.ts'

const d = v.description

export const recordThought = defineMethod({
  summary: 'Keeps a thought for the next decision, or appends it to a recorded one.',
  params: v.object({
    text: v.pipe(nonEmptyText(10_000), d('The thought.')),
    decision_id: v.pipe(
      v.nullish(DecisionId, null),
      v.metadata({ identifier: true }),
      d("The caller's decision to append it to (others: scope curate). By default it is kept for the next decision."),
    ),
    ...trackedParams,
  }),
  result: v.object({
    success: v.boolean(),
    mode: v.pipe(
      v.picklist(['pre-decision', 'post-decision']),
      d('Whether it is kept for the next decision or was appended to one.'),
    ),
    agent_id: v.pipe(v.nullable(v.string()), d('Author of the thought; pre-decision only.')),
    decision_id: v.nullable(v.string()),
    step_number: v.pipe(v.nullable(v.number()), d('Number of the appended step; post-decision only.')),
  }),
  scope: 'write',
  effect: 'write',
  keeps_texts: true,
  mcp: {
    name: 'record_thought',
    title: 'Record thought',
    description:
      'Save a step of your reasoning; the next decision that you record includes it. With `decision_id`, it is appended to that decision instead.',
  },
  async handle(call, { text, decision_id, ...names }) {
    if (decision_id === null) {
      await call.tracker.flush()
      await call.store.transaction(async (tx) => {
        await call.tracker.think(tx, sessionOf(call, names), call.method, text)
        await audit(call, tx, [])
      })
      return {
        success: true,
        mode: 'pre-decision' as const,
        agent_id: names.agent_id ?? call.caller.agent,
        decision_id: null,
        step_number: null,
      }
    }
    const id = await resolveId(call.store.decisions, decision_id, 'decision_id')
    const step_number = await call.store.transaction(async (tx) => {
      const found = await requireOwn(tx, id, decision_id, call.caller)
      const { record, step } = withThought(found.record, text, call.caller.agent, timestamp(call.now()))
      await tx.decisions.put(requireSize(record), found.revision)
      await audit(call, tx, [id], { step })
      return step
    })
    return { success: true, mode: 'post-decision' as const, agent_id: null, decision_id: id, step_number }
  },
})
