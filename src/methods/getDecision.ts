/** cstp.getDecision: one full record. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { resolveId } from '../domain/lookup.ts'
import { defineMethod } from '../method.ts'

export const getDecision = defineMethod({
  summary: 'Returns the full record of a decision.',
  params: v.object({ id: DecisionId }),
  result: DecisionRecord,
  scope: 'read',
  failure: 'internal_error',
  async handle({ store }, { id }) {
    const found = await store.decisions.get(await resolveId(store.decisions, id, 'id'))
    if (!found) throw decisionNotFound(id)
    return found.record
  },
})
