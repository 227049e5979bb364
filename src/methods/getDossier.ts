/** cstp.getDossier: everything that is kept of one decision, signed, with the proofs of its evidence. */
import * as v from 'valibot'
import { Dossier } from '../../sdk/schema/dossier.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { approvalFor, viewerOf } from '../domain/approval/answers.ts'
import { show } from '../domain/approval/approval.ts'
import { requireDecision, resolveId } from '../domain/decision/lookup.ts'
import { dossierOf } from '../domain/evidence/dossier.ts'

export const getDossier = defineMethod({
  summary:
    'Returns everything that is kept of a decision in one signed document: its record and updates, verdict and rules, approvals, evidence with proofs, outcome and score.',
  params: v.object({ id: DecisionId }),
  result: Dossier,
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle(call, { id: given }) {
    const { store, caller } = call
    const id = await resolveId(store.decisions, given, 'id')
    const { record } = await requireDecision(store, id, given)
    const now = call.now()
    const viewer = viewerOf(caller, call.roles)
    return dossierOf(
      {
        ...call,
        now,
        seesLine: ({ agent }) => agent === caller.agent || caller.scopes.has('admin'),
        async approval(of) {
          const found = await approvalFor(store.keyed, of, viewer)
          return found === null || found === 'withheld' ? found : show(found, now, call.desk.approvalUrl)
        },
      },
      record,
    )
  },
})
