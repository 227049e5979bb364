/** Walks over all that a store holds of a kind, in an order that both sides share. */
import type { StoredAuditEntry, StoredDecision } from '../../../sdk/storage/store.ts'
import type { Side } from './side.ts'

const pageSize = 200
const auditPage = 1_000

/** By id. */
export async function* decisionsOf({ store }: Side): AsyncGenerator<StoredDecision[]> {
  for (let after: string | null = null; ; ) {
    const page: StoredDecision[] = await store.decisions.walk(after, pageSize)
    if (page.length === 0) return
    yield page
    after = page.at(-1)!.record.id
  }
}

/** The trail from its first line on, though it is read from its last. */
export async function* trail({ store }: Side): AsyncGenerator<StoredAuditEntry[]> {
  const ends: (number | undefined)[] = []
  for (let cursor: number | undefined; ; ) {
    const page = await store.audit.list({ ...(cursor !== undefined && { cursor }), limit: auditPage })
    if (page.length === 0) break
    ends.push(cursor)
    cursor = page.at(-1)!.seq
  }
  for (const cursor of ends.reverse())
    yield (await store.audit.list({ ...(cursor !== undefined && { cursor }), limit: auditPage })).reverse()
}
