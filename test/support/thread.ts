/** A thread compared with all that its store holds: whatever was interrupted, each is there with the other. */
import { expect } from 'bun:test'
import { decisionPages, readDecisions } from '../../sdk/storage/decisions.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { StoredAct } from '../../sdk/storage/thread.ts'
import { auditDigest } from '../../src/core/canonical.ts'
import { grow, rootOf } from '../../src/domain/ledger/engine/tree.ts'
import { commitmentOf } from '../../src/domain/ledger/thread/commitment.ts'
import { stateId } from '../../src/domain/record/act-ids.ts'

const page = 500

/** Every act, all with their places; the tree is that of their commitments. */
export async function allActs({ thread }: Store): Promise<StoredAct[]> {
  while ((await thread.sequence(({ seq, frontier }, commitments) => grow(frontier, seq, commitments), page)) > 0) {}
  const acts: StoredAct[] = []
  for (let more = page; more === page; ) {
    const read = await thread.read({ from: acts.length + 1, limit: page })
    acts.push(...read)
    more = read.length
  }
  expect(acts.map(({ seq }) => seq)).toEqual(acts.map((_, at) => at + 1))
  for (const { commitment, salt, payload } of acts) expect(commitmentOf(salt!, payload!)).toBe(commitment)
  const { seq, frontier } = await thread.head()
  const commitments = acts.map(({ commitment }) => commitment)
  expect([seq, rootOf(frontier)]).toEqual([acts.length, rootOf(grow([], 0, commitments).frontier)])
  return acts
}

/**
 * What was acknowledged has its act, each state of a decision and each line of the trail has one, and no act speaks of what is not there.
 * @param acknowledged ids of acts that answers named
 */
export async function checkThread(store: Store, acknowledged: Iterable<string>): Promise<StoredAct[]> {
  const acts = await allActs(store)
  const payloads = new Map(acts.map(({ record_id, payload }) => [record_id, JSON.parse(payload!)]))
  expect([...acknowledged].filter((record_id) => !payloads.has(record_id))).toEqual([])
  const states = new Map<string, unknown>()
  for await (const fields of decisionPages(store.decisions, {}, page))
    for (const { record, revision } of await readDecisions(
      store.decisions,
      fields.map(({ id }) => id),
    )) {
      for (let at = 1; at <= revision; at++) states.set(stateId(record.id, at), at === revision ? record : null)
    }
  const told = acts.filter(({ kind }) => ['decision', 'revision', 'review', 'link'].includes(kind))
  expect(told.map(({ record_id }) => record_id).sort()).toEqual([...states.keys()].sort())
  for (const [record_id, record] of states) if (record) expect(payloads.get(record_id).record).toEqual(record)
  const digests: string[] = []
  for (let cursor: number | undefined; ; ) {
    const lines = await store.audit.list({ limit: page, ...(cursor !== undefined && { cursor }) })
    digests.push(...lines.map(({ seq: _, ...line }) => auditDigest(line)))
    cursor = lines.at(-1)?.seq
    if (lines.length < page) break
  }
  const named = [...payloads.values()].flatMap(({ audit_sha256 }) => audit_sha256 ?? [])
  expect(named.sort()).toEqual(digests.sort())
  return acts
}
