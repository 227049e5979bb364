/** Rules at an earlier time: the set that was in force, over the decisions, evidence and approvals of then. */

import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { fieldsOf } from '../../../sdk/storage/fields.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { type Approval, approvalAsOf } from '../approval/approval.ts'
import { approvalCollections } from '../approval/requests.ts'
import { type Past, refused } from '../history/past.ts'
import { pastView } from '../history/search.ts'
import { enact, policyAsOf } from './archive.ts'
import { type BreakerSubject, breakerScopes, watching } from './breaker.ts'
import type { EvidenceReader } from './evidence.ts'
import { type Guard, type GuardedCall, guardOf } from './guard.ts'
import { openHistory } from './history.ts'
import type { PolicySet } from './set.ts'

/** The rule set that was in force. @throws CstpError `invalid_params` if the archive has none of that time */
export async function rulesOf(
  { store, policy, now }: Pick<GuardedCall, 'store' | 'policy' | 'now'>,
  { at_ms, block }: Past,
): Promise<PolicySet> {
  await enact(store, await policy.current(), now())
  const set = await policyAsOf(store, at_ms)
  if (set) return set
  throw refused('a time at which a rule set of the archive was in force', block().at)
}

/** The policy of an earlier time, for a dry run. */
export async function openPastGuard(call: GuardedCall, past: Past, subject: BreakerSubject): Promise<Guard> {
  const set = await rulesOf(call, past)
  if (watching(set.breakers, breakerScopes(subject)).length > 0)
    past.limit('circuit_breakers', 'Circuit breakers are left out: their states of then are not kept')
  if (set.rules.some(({ rule }) => rule.requires?.some((one) => 'evidence' in one)))
    past.limit('evidence_times', 'Evidence counts by the times of its events; it may have been ingested later')
  const evidence = evidenceUntil(call.evidence, past.at_ms)
  const index = {
    ...call.index,
    ...pastView(call.index, past, async (ids) => {
      const read = await past.read(ids)
      return new Map(read.map(({ record, indexed }) => [record.id, fieldsOf(record, indexed)]))
    }),
  }
  const store = { ...past.store, keyed: null }
  return guardOf(call, set, [], {
    history: (answers) => openHistory({ ...call, store, now: past.now, index, evidence }, answers),
    approvals: (tx, of) => ({ tx: approvalsOf(tx, past.at_ms), call: { ...of, desk: { ...of.desk, now: past.now } } }),
  })
}

function evidenceUntil(evidence: EvidenceReader, at_ms: number): EvidenceReader {
  const until =
    <T>(page: (target: T, seq: number, limit: number) => Promise<EvidenceRecord[]>) =>
    async (target: T, first: number, limit: number): Promise<EvidenceRecord[]> => {
      const found: EvidenceRecord[] = []
      for (let seq = first; ; ) {
        const records = await page(target, seq, limit)
        found.push(...records.filter(({ ts }) => Date.parse(ts) <= at_ms))
        // A page with less than the limit is the last one.
        if (records.length < limit || found.length >= limit) return found.slice(0, limit)
        seq = records.at(-1)!.seq + 1
      }
    }
  return { ofPullRequest: until(evidence.ofPullRequest), ofCommit: until(evidence.ofCommit) }
}

/** A transaction that sees the approvals of then. */
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
