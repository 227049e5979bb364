/** Requests that wait for an answer. */
import type { ListApprovalsResult } from '../../../../sdk/client.ts'
import { service } from '../../service.ts'
import { bySoonest } from '../approvals/list.tsx'

export const noApprovals: ListApprovalsResult = { approvals: [], total: 0 }

/** The next 50 of them by the time at which they expire; none for readers who may not see any. */
export async function pendingApprovals(signal: AbortSignal): Promise<ListApprovalsResult> {
  const found = await service.listApprovals({ state: 'pending', limit: 50 }, { signal }).catch(() => noApprovals)
  return { ...found, approvals: found.approvals.toSorted(bySoonest) }
}
