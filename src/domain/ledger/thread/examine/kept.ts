/** Checks stored rules and approvals against the acts about them. */
import { keyedPages } from '../../../../../sdk/storage/keyed.ts'
import type { StoredAct } from '../../../../../sdk/storage/thread.ts'
import { approvalCollections } from '../../../policy/approval/requests.ts'
import { archivedPolicy, compileArchived } from '../../../policy/judge/archive.ts'
import { approvalStepId } from '../../../record/act-ids.ts'
import type { Approval } from '../../../record/approval/approval.ts'
import { saidBy } from './act.ts'
import { flawAt, flawOf, type ThreadFlaw, type ThreadSources } from './flaw.ts'

/** Checks rules that came into force against their archive. */
export async function policyFlaw(
  { keyed }: Pick<ThreadSources, 'keyed'>,
  act: StoredAct,
  { policy_hash }: Record<string, unknown>,
): Promise<ThreadFlaw | null> {
  const hash = String(policy_hash)
  const found = await archivedPolicy({ keyed }, hash)
  if (found === null) return flawOf(act, 'its rules are not in the archive')
  const set = compileArchived({ policy_hash: hash, guardrails: found.rules, circuit_breakers: found.breakers })
  return set === 'altered' ? flawOf(act, 'its rules in the archive were changed') : null
}

/** Checks approvals against the acts by which they were requested or decided. */
export async function* approvalFlaws(
  { keyed, thread }: Pick<ThreadSources, 'keyed' | 'thread'>,
  yieldToEventLoop: () => Promise<void>,
): AsyncGenerator<ThreadFlaw> {
  for await (const page of keyedPages(keyed, approvalCollections.approval)) {
    for (const { key, value } of page) {
      const { state, request_digest, requester } = value as Approval
      const step = approvalStepId(key, state === 'pending' || state === 'expired' ? 'requested' : 'decided')
      const [act] = await thread.read({ record_ids: [step] })
      if (act === undefined) {
        yield flawAt(null, `the approval ${key} is ${state}, and no act says so`)
        continue
      }
      const said = saidBy(act)
      if (said === null) continue
      const isSaid = state === 'pending' || state === 'expired' || (state === 'denied') === (said.state === 'denied')
      if (!isSaid || said.request_digest !== request_digest || said.requester !== requester)
        yield flawOf(act, `the approval ${key} says something else: it was changed without an act`)
    }
    await yieldToEventLoop()
  }
}
