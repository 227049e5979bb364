/** cstp.getDecision: one full record. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import type { Call } from '../context.ts'
import { resolveId } from '../domain/lookup.ts'
import { defineMethod } from '../method.ts'

async function find({ store }: Call, id: string): Promise<string> {
  const record = await store.decisions.json(await resolveId(store.decisions, id, 'id'))
  if (record === null) throw decisionNotFound(id)
  return record
}

export const getDecision = defineMethod({
  summary: 'Returns the full record of a decision.',
  params: v.object({ id: DecisionId }),
  result: DecisionRecord,
  scope: 'read',
  failure: 'internal_error',
  handle: async (call, { id }) => JSON.parse(await find(call, id)),
  // Stored records are JSON already: to parse and print one again would cost half of the request.
  json: (call, { id }) => find(call, id),
})
