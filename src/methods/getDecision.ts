/** cstp.getDecision: one full record. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { DecisionRecord, Proposal, Revision } from '../../sdk/schema/decision.ts'
import { DecisionId, readParams } from '../../sdk/schema/params.ts'
import { completeJson, parseRecord, type RecordText } from '../../sdk/storage/decisions.ts'
import { defineMethod, trackedInput } from '../calls/method.ts'
import { JsonText } from '../calls/page.ts'
import type { Call } from '../calls/services.ts'
import { proposalOf } from '../domain/lifecycle/proposal.ts'
import { isWholeId, resolveId } from '../domain/record/decision/lookup.ts'
import { revisionsOf } from '../domain/record/decision/revisions.ts'
import { missing } from '../domain/record/decision/tombstone.ts'
import { inputTypes, noteInput } from '../domain/record/deliberation/inputs.ts'
import { openPast } from '../domain/record/history/past.ts'

const params = v.object({
  id: DecisionId,
  revisions: v.pipe(v.optional(v.boolean(), false), v.description('Include every update with the previous values.')),
  proposal: v.pipe(
    v.optional(v.boolean(), false),
    v.description('Include what evidence says about the outcome, if nobody has reviewed the decision.'),
  ),
  as_of: AsOf,
  ...readParams,
})

type Asked = v.InferOutput<typeof params>

async function find(call: Call, asked: Asked): Promise<JsonText> {
  const { id: given, revisions: shown, proposal: proposes, as_of } = asked
  const past = as_of === undefined ? null : await openPast(call, as_of)
  const { decisions } = (past ?? call).store
  const id = isWholeId(given) ? given : await resolveId(decisions, given, 'id')
  const [one] = await decisions.get([id])
  if (!one) throw await missing(call.store.keyed, id, given)
  noteLookup(call, asked, one)
  const json = completeJson(one)
  if (!shown && !past && !proposes) return new JsonText([json])
  const revisions = shown ? await revisionsOf(call.store.keyed, id) : []
  const known = revisions.filter(({ updated_at }) => !past || Date.parse(updated_at) <= past.at_ms)
  const proposal = proposes && !past && (await proposalOf(call, parseRecord(one)))
  const more = {
    ...(shown && { revisions: known }),
    ...(proposal && { proposal }),
    ...(past && { as_of: past.block() }),
  }
  if (Object.keys(more).length === 0) return new JsonText([json])
  return new JsonText([json.slice(0, -1), `,${JSON.stringify(more).slice(1)}`])
}

/** Notes the look-up as input, unless an agent reads back what it has just recorded, which is not a precedent of its next decision. */
function noteLookup(call: Call, asked: Asked, { id, agent, created_ms }: RecordText): void {
  const reads_back = call.now() - created_ms < call.tracker_ttl_ms && agent === call.caller.agent
  if (!reads_back) noteInput(call, asked, { type: inputTypes.lookup, text: `Looked at ${id}`, data: { id } })
}

export const getDecision = defineMethod({
  summary: 'Returns the full record of a decision.',
  params,
  result: v.object({
    ...DecisionRecord.entries,
    revisions: v.optional(
      v.pipe(v.array(Revision), v.description('Every update, oldest first; only with `revisions: true`.')),
    ),
    proposal: v.optional(
      v.pipe(
        Proposal,
        v.description(
          'What evidence says about the outcome, if it says anything to this caller; only with `proposal: true`.',
        ),
      ),
    ),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_decision',
    title: 'Get decision',
    description:
      'Get the full record of a decision: context, reasons, alternatives, deliberation, links, outcome and lessons. Use it with an id from query_decisions.',
    input: trackedInput(v.omit(params, ['proposal'])),
  },
  handle: find,
})
