/** cstp.getDossier: everything stored about one decision, signed, with the proofs of its evidence. */

import * as v from 'valibot'
import { Dossier } from '../../sdk/schema/dossier.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { readDecision, writtenRecord } from '../../sdk/storage/decisions.ts'
import type { StoredAuditEntry } from '../../sdk/storage/store.ts'
import type { ActEntry, StoredAct } from '../../sdk/storage/thread.ts'
import { defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { seesAll } from '../core/caller.ts'
import { auditDigest } from '../core/canonical.ts'
import { type DossierSources, dossierOf } from '../domain/ledger/evidence/dossier.ts'
import { actsThatFit, maySee, receiptsOf, redactionsOf } from '../domain/ledger/thread/receipts.ts'
import { approvalFor, viewerOf } from '../domain/policy/approval/answers.ts'
import { show } from '../domain/record/approval/approval.ts'
import { resolveId } from '../domain/record/decision/lookup.ts'
import { missing } from '../domain/record/decision/tombstone.ts'

/** Maximum number of a decision's acts that are examined; only writes are acts. */
const maxLooked = 10_000
/** Maximum number of these in a dossier. */
const maxActs = 200
const maxTries = 5

const updates: ReadonlySet<string> = new Set(['revision', 'link', 'review'])

/** The acts, in the order of the ledger. If there are too many, the oldest updates are left out, as each repeats the record. */
async function placedActs(
  { store, thread }: Call,
  decision_id: string,
  others: readonly string[],
  lines: readonly StoredAuditEntry[],
) {
  await thread.sequence()
  const newest = (await store.thread.ofDecision(decision_id, maxLooked)).reverse()
  // A line about several decisions is named by an act about one of them, such as the source of a link.
  const shared = lines.filter(({ ids }) => ids.some((id) => id !== decision_id))
  const [times, beyond] = [new Set(shared.map(({ at }) => at)), new Set(shared.flatMap(({ ids }) => ids))]
  beyond.delete(decision_id)
  for (const id of beyond)
    newest.push(...(await store.thread.ofDecision(id, maxLooked)).filter(({ at }) => times.has(at)))
  // Kept, since the record is compared with its last state.
  const last = newest.find(({ kind }) => updates.has(kind))
  const rank = (one: ActEntry) => (one === last ? 0 : updates.has(one.kind) ? 2 : 1)
  const { acts, isCut } = await actsThatFit(
    store,
    newest.sort((a, b) => rank(a) - rank(b)),
    maxActs,
  )
  const beside = await store.thread.read({ record_ids: others })
  const redactions = await redactionsOf(store, [...acts, ...beside])
  const digests = new Set(shared.map(auditDigest))
  const isOwn = ({ decision_id: of, payload }: StoredAct) =>
    of === decision_id || digests.has(JSON.parse(payload ?? '{}').audit_sha256)
  const all = new Map([...acts.filter(isOwn), ...beside, ...redactions].map((act) => [act.record_id, act]))
  return { acts: [...all.values()].sort((a, b) => Number(a.seq) - Number(b.seq)), isCut }
}

/** Times of the acts on a decision: all calls, which are few, and the newest of the others. */
async function actedAt({ store }: Call, decision_id: string): Promise<string[]> {
  const known = await store.thread.ofDecision(decision_id, maxLooked)
  const isCall = ({ kind }: ActEntry) => kind === 'call'
  const others = known.filter((act) => !isCall(act)).slice(-maxActs)
  return [...known.filter(isCall), ...others].map(({ at }) => at)
}

export const getDossier = defineMethod({
  summary:
    'Returns everything stored about a decision in one signed document: record and updates, verdict and rules, approvals, evidence with proofs, outcome and score.',
  params: v.object({ id: DecisionId }),
  result: Dossier,
  scope: 'read',
  effect: 'read',
  cost: 16,
  async handle(call, { id: given }) {
    const { store, caller } = call
    const id = await resolveId(store.decisions, given, 'id')
    const now = call.now()
    const viewer = viewerOf(caller, call.roles)
    const sources: DossierSources = {
      ...call,
      now,
      thread_key: call.thread.signer.verifier_key,
      actedAt: (of) => actedAt(call, of),
      acts: (of, others, lines) => placedActs(call, of, others, lines),
      seesAct: (act) => maySee(act, caller),
      async receipts(acts) {
        const last = acts.reduce((end, { seq }) => Math.max(end, Number(seq)), 0)
        return last === 0 ? [] : receiptsOf(store.thread, await call.publisher.covering(last), acts)
      },
      seesLine: ({ agent }) => agent === caller.agent || seesAll(caller),
      async approval(of) {
        const found = await approvalFor(store.keyed, of, viewer)
        return found === null || found === 'withheld' ? found : show(found, now, call.approvalContext.approvalUrl)
      },
    }
    for (let tries = 1; ; tries++) {
      const [stored] = await store.decisions.get([id])
      if (!stored) throw await missing(store.keyed, id, given)
      const dossier = await dossierOf(sources, writtenRecord(stored))
      // If the record changed meanwhile, the dossier could contain acts later than the record.
      if (tries === maxTries || (await readDecision(store.decisions, id))?.revision === stored.revision) return dossier
    }
  },
})
