/** cstp.getReceipt: acts with a proof that they are in the log, which anyone can verify offline. */

import * as v from 'valibot'
import { CstpError, decisionNotFound, invalidParam } from '../../sdk/errors.ts'
import { type DecisionRecord, nonEmptyText } from '../../sdk/schema/decision.ts'
import { dataFormat } from '../../sdk/schema/format.ts'
import { DecisionId, shortened } from '../../sdk/schema/params.ts'
import { Receipt } from '../../sdk/schema/receipt.ts'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { actKinds } from '../../sdk/storage/thread.ts'
import { defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { signStatement } from '../domain/ledger/evidence/statement.ts'
import { actsThatFit, maySee, receiptsOf, redactionsOf } from '../domain/ledger/thread/receipts.ts'
import { resolveId } from '../domain/record/decision/lookup.ts'

const d = v.description

/** Maximum number of a decision's acts that are examined; only writes are acts. */
const maxLooked = 10_000
/** Maximum number of these in an answer. */
const maxActs = 1_000

const params = v.object({
  record_id: v.optional(
    v.pipe(
      nonEmptyText(256),
      d('The act: the `record_id` of a verdict or of an earlier receipt. Alternative to `decision_id`.'),
    ),
  ),
  decision_id: v.optional(v.pipe(DecisionId, d('The decision: returns the receipts of all acts that concern it.'))),
  kind: v.optional(v.pipe(v.picklist(actKinds), d('Only acts of this kind.'))),
})

type Params = v.InferOutput<typeof params>

/** @throws CstpError `decision_not_found`; erased decisions still have their acts */
async function actsFor(call: Call, given: Params): ReturnType<typeof actsThatFit> {
  const found = await actsAsked(call, given)
  return { ...found, acts: [...found.acts, ...(await redactionsOf(call.store, found.acts))] }
}

async function actsAsked({ store }: Call, { record_id, decision_id, kind }: Params): ReturnType<typeof actsThatFit> {
  const isAsked = (act: { kind: string }) => kind === undefined || act.kind === kind
  if (record_id !== undefined)
    return { acts: (await store.thread.read({ record_ids: [record_id] })).filter(isAsked), isCut: false }
  const id = await resolveId(store.decisions, decision_id!, 'decision_id')
  const known = await store.thread.ofDecision(id, maxLooked)
  if (known.length === 0 && !(await readDecision(store.decisions, id))) throw decisionNotFound(id)
  return actsThatFit(store, known.filter(isAsked), maxActs)
}

const statement = v.optional(
  v.pipe(
    v.record(v.string(), v.unknown()),
    d(
      'For a state of a decision: an in-toto statement in DSSE (Sigstore bundle v0.3), signed by the key of the evidence log.',
    ),
  ),
)

/** The statement of an act that is a state of a decision. Approvals and evidence are not part of it; a dossier has them. */
const statementIn = ({ signer }: Call, { payload }: Pick<Receipt, 'payload'>) =>
  payload !== null && 'record' in payload
    ? { statement: { ...signStatement(signer, { record: payload.record as DecisionRecord }) } }
    : {}

export const getReceipt = defineMethod({
  summary: 'Returns acts with proofs that they are entries of the log; `cstp verify` checks them offline.',
  params,
  result: v.object({
    receipt_format: v.pipe(v.literal(dataFormat), d('Version of the format of the receipts.')),
    receipts: v.pipe(
      v.array(v.object({ ...Receipt.entries, statement })),
      d('In the order of the log. Of erased acts, the redaction that names them is among them.'),
    ),
    pending: v.pipe(v.boolean(), d('True if some acts have no position in the log yet; repeat the call.')),
    withheld: v.pipe(
      v.number(),
      d('Number of acts of other agents that the caller may not see: calls, verdicts, tool uses and approvals.'),
    ),
    shortened,
  }),
  scope: 'read',
  effect: 'read',
  page: { list: 'receipts' },
  async handle(call, given) {
    const { record_id, decision_id } = given
    if ((record_id === undefined) === (decision_id === undefined))
      throw invalidParam(
        'record_id',
        'one of record_id, decision_id',
        record_id === undefined ? 'neither' : 'both',
        'give either record_id or decision_id',
      )
    let { acts, isCut } = await actsFor(call, given)
    if (acts.some(({ seq }) => seq === null)) {
      await call.thread.sequence()
      ;({ acts, isCut } = await actsFor(call, given))
    }
    if (record_id !== undefined && acts.length === 0)
      throw invalidParam('record_id', 'the record_id of an act', record_id, 'the log has no such act')
    const seen = acts.filter((act) => maySee(act, call.caller))
    const withheld = acts.length - seen.length
    if (record_id !== undefined && withheld > 0)
      throw new CstpError('forbidden', 'That act belongs to another agent: its receipt needs the scope admin', {
        scope: 'admin',
      })
    const placed = seen.filter(({ seq }) => seq !== null).sort((a, b) => a.seq! - b.seq!)
    const pending = placed.length < seen.length
    const isLong = isCut && { shortened: true }
    const last = placed.reduce((end, { seq }) => Math.max(end, seq!), 0)
    if (last === 0) return { receipt_format: dataFormat, receipts: [], pending, withheld, ...isLong }
    const checkpoint = await call.publisher.covering(last)
    const receipts = (await receiptsOf(call.store.thread, checkpoint, placed)).map((one) => ({
      ...one,
      ...statementIn(call, one),
    }))
    return { receipt_format: dataFormat, receipts, pending, withheld, ...isLong }
  },
})
