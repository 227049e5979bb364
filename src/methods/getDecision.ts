/** cstp.getDecision: one full record. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { DecisionId, trackedParams } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { resolveId } from '../domain/decision/lookup.ts'
import { inputTypes, noteInput } from '../domain/deliberation/inputs.ts'

const params = v.object({ id: DecisionId, ...trackedParams })

async function find(call: Call, { id: given, ...names }: v.InferOutput<typeof params>): Promise<string> {
  const { decisions } = call.store
  const id = await resolveId(decisions, given, 'id')
  const record = await decisions.json(id)
  if (record === null) throw decisionNotFound(given)
  noteInput(call, names, { type: inputTypes.lookup, text: `Looked at ${id}`, data: { id } })
  return record
}

export const getDecision = defineMethod({
  summary: 'Returns the full record of a decision.',
  params,
  result: DecisionRecord,
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_decision',
    title: 'Get decision',
    description:
      'The full record of one decision: context, reasons, alternatives, deliberation, links, outcome and lessons. Use it on an id from query_decisions.',
  },
  failure: 'internal_error',
  handle: async (call, given) => JSON.parse(await find(call, given)),
  // Stored records are JSON already: to parse and print one again would cost half of the request.
  json: find,
})
