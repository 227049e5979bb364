/** Evaluation at an earlier time: the rule set that was in force, with the decisions, evidence and approvals of that time. */

import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { evidenceCursor } from '../../record/act-ids.ts'
import { type Approval, approvalAsOf, type Desk } from '../../record/approval/approval.ts'
import { type Past, refused } from '../../record/history/past.ts'
import { pastView } from '../../search/past.ts'
import { approvalCollections } from '../approval/requests.ts'
import type { EvidenceReader } from '../facts/evidence.ts'
import { openHistory } from '../facts/live-history.ts'
import type { Answers, History } from '../rules/history.ts'
import type { PolicySet } from '../rules/set.ts'
import { enact, policyAsOf } from './archive.ts'
import { watching } from './breakers.ts'
import type { PolicyCall } from './call.ts'

/** The rule set that was in force. @throws CstpError `invalid_params` if the archive has none for that time */
export async function rulesOf(
  { store, policy, now }: Pick<PolicyCall, 'store' | 'policy' | 'now'>,
  { at_ms, block }: Past,
): Promise<PolicySet> {
  await enact(store, await policy.current(), now())
  const set = await policyAsOf(store, at_ms)
  if (set) return set
  throw refused('a time at which a rule set of the archive was in force', block().at)
}

/** The policy of an earlier time. */
export interface PastRules {
  set: PolicySet
  /** The past as rules saw it then. @param answers gets every answer */
  history(answers: Answers): History
  /** A transaction that sees the approvals of that time. */
  approvals(tx: Transaction): Transaction
  /** A call whose clock is of that time. */
  at<Call extends { approvalContext: Desk }>(call: Call): Call
}

/** @param scopes of the breakers that could watch the action */
export async function pastRules(call: PolicyCall, past: Past, scopes: readonly string[]): Promise<PastRules> {
  const set = await rulesOf(call, past)
  if (watching(set.breakers, scopes).length > 0)
    past.limit('circuit_breakers', 'Circuit breakers are left out: their states of then are not kept')
  if (set.rules.some(({ rule }) => rule.requires?.some((one) => 'evidence' in one)))
    past.limit('evidence_times', 'Evidence counts from when the ledger had it, about a second after it was ingested')
  const evidence = evidenceBy(call.evidence, call.store, past.at_ms)
  const index = {
    ...call.index,
    ...pastView(call.index, past, async (ids) => {
      const read = await past.read(ids)
      return new Map(read.map(({ record, indexed }) => [record.id, filterFields(record, indexed)]))
    }),
  }
  const store = { ...past.store, keyed: null }
  return {
    set,
    history: (answers) => openHistory({ ...call, store, now: past.now, index, evidence }, answers),
    approvals: (tx) => approvalsOf(tx, past.at_ms),
    at: (of) => ({ ...of, approvalContext: { ...of.approvalContext, now: past.now } }),
  }
}

/** Number of the last record of the evidence log that the thread had at a time: records are added to the thread in order. */
async function lastRecordBy({ thread, keyed }: Pick<Store, 'thread' | 'keyed'>, at_ms: number): Promise<number> {
  const [cursor] = await keyed.get(evidenceCursor.collection, [evidenceCursor.key])
  let [low, high] = [0, Number(cursor?.value ?? 0)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [act] = await thread.read({ record_ids: [`evidence/${middle}`] })
    if (act && Date.parse(act.at) <= at_ms) low = middle
    else high = middle - 1
  }
  return low
}

/** The evidence that was known at a time, whatever the times of its events. */
function evidenceBy(evidence: EvidenceReader, store: Store, at_ms: number): EvidenceReader {
  let last: Promise<number> | null = null
  const until =
    <T>(page: (target: T, seq: number, limit: number) => Promise<EvidenceRecord[]>) =>
    async (target: T, first: number, limit: number): Promise<EvidenceRecord[]> => {
      last ??= lastRecordBy(store, at_ms)
      const known = await last
      return (await page(target, first, limit)).filter(({ seq }) => seq <= known)
    }
  return { ofPullRequest: until(evidence.ofPullRequest), ofCommit: until(evidence.ofCommit) }
}

/** A transaction that sees approvals as they were at a time. */
const approvalsOf = (tx: Transaction, at_ms: number): Transaction => ({
  ...tx,
  keyed: {
    ...tx.keyed,
    async get(collection, keys) {
      const found = await tx.keyed.get(collection, keys)
      if (collection !== approvalCollections.approval) return found
      return found.flatMap((one) => {
        const value = approvalAsOf(one.value as Approval, at_ms)
        return value ? [{ ...one, value }] : []
      })
    },
  },
})
