/** cstp.getDecision: one full record. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { DecisionId, trackedParams } from '../../sdk/schema/params.ts'
import { inputTypes } from '../domain/deliberation.ts'
import { resolveId } from '../domain/lookup.ts'
import { track } from '../domain/track.ts'
import { defineMethod } from '../method.ts'

export const getDecision = defineMethod({
  summary: 'Returns the full record of a decision.',
  params: v.object({ id: DecisionId, ...trackedParams }),
  result: DecisionRecord,
  scope: 'read',
  failure: 'internal_error',
  async handle(call, { id, ...names }) {
    const { store } = call
    const found = await store.decisions.get(await resolveId(store.decisions, id, 'id'))
    if (!found) throw decisionNotFound(id)
    track(call, names, { type: inputTypes.lookup, text: found.record.title, data: { id: found.record.id } })
    return found.record
  },
})
