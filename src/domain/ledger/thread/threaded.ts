/**
 * The store as the program writes to it: each transaction also appends its acts to the thread, so that no method can forget them and
 * nothing is acknowledged without its act.
 */

import { redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import { keyedPages } from '../../../../sdk/storage/keyed.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../../sdk/storage/thread.ts'
import { timestamp } from '../../../core/time.ts'
import { type ActTools, actCollections, actOf, actsOf, stateAct, type Written } from './acts.ts'
import { attestedCollections, attestedGet, attestedReads, isAttested, subjectOf } from './attested.ts'

/** A transaction that notes its writes once they are done, and compares what it reads with the acts about it. */
function noting(tx: Transaction, written: Written, { now }: ActTools): Transaction {
  const { decisions, keyed } = tx
  const { states } = written
  return {
    ...tx,
    decisions: {
      ...decisions,
      async put(record, replaces, revision = replaces + 1) {
        await decisions.put(record, replaces, revision)
        written.decisions.push({ record, revision })
      },
    },
    keyed: {
      ...keyed,
      get: (collection, keys) => attestedGet(tx, collection, keys, { written: states, now_ms: now() }),
      async put(collection, key, value, options) {
        await keyed.put(collection, key, value, options)
        if (actCollections.has(collection)) written.keyed.push({ collection, value })
        if (!isAttested(collection)) return
        const expires_ms = options?.expires_ms ?? null
        states.set(subjectOf(collection, key), { collection, key, value: value ?? null, expires_ms })
      },
      async delete(collection, keys) {
        const there = isAttested(collection) ? await keyed.get(collection, keys) : []
        await keyed.delete(collection, keys)
        for (const { key } of there)
          states.set(subjectOf(collection, key), { collection, key, value: undefined, expires_ms: null })
      },
    },
    async append(what) {
      await tx.append(what)
      written.audit.push(...(what.audit ?? []))
    },
    // Also notes the audit entries that a store adds by itself.
    async erase({ audit, expired, ...rest }) {
      const at_ms = now()
      const removed = await tx.erase({
        ...rest,
        ...(audit && { audit: { ...audit, at_ms } }),
        ...(expired && { expired: { ...expired, at_ms } }),
      })
      const seqs = audit?.lines.map(({ seq }) => seq) ?? []
      if (seqs.length > 0) written.audit.push(redactionEntry(seqs, audit!.redacted_by, at_ms))
      if (removed > 0) written.audit.push(retentionEntry(removed, expired!.before_ms, at_ms))
      return removed
    },
  }
}

/** @param acted called after each transaction that has appended acts */
export function threaded(store: Store, tools: ActTools, acted: () => void): Store {
  return {
    ...store,
    keyed: attestedReads(store, tools.now),
    async transaction(work) {
      let hasActs = false
      const result = await store.transaction(async (tx) => {
        const written: Written = { decisions: [], audit: [], keyed: [], states: new Map() }
        const value = await work(noting(tx, written, tools))
        const acts = actsOf(written, tools)
        hasActs = acts.length > 0
        if (hasActs) await tx.append({ acts })
        return value
      })
      if (hasActs) acted()
      return result
    },
  }
}

/** Whether the keyed records are from before they were attested: no act is about one. Only if no collection begins with a record that has an act are all acts read. */
export async function isUnattested({ keyed, thread }: Pick<Store, 'keyed'> & AttestedThread): Promise<boolean> {
  const first = await Promise.all(
    attestedCollections.map(async (collection) =>
      (await keyed.list(collection, { limit: 1 })).map(({ key }) => subjectOf(collection, key)),
    ),
  )
  const subjects = first.flat()
  if (subjects.length === 0 || (await thread.newest(subjects)).length > 0) return false
  const isState = ({ kind }: StoredAct) => kind === 'state'
  for (let from = 1; ; from += readAtOnce) {
    const acts = await thread.read({ from, limit: readAtOnce })
    if (acts.some(isState)) return false
    if (acts.length < readAtOnce) return !(await thread.read({ from: null, limit: mostWaiting })).some(isState)
  }
}
interface AttestedThread {
  thread: Pick<Store['thread'], 'newest' | 'read'>
}
const readAtOnce = 1_000
const mostWaiting = 100_000

/** Attests the records of a store that an earlier version of the program wrote. @param store as the driver opened it */
export async function attestExisting(store: Store, tools: ActTools): Promise<void> {
  if (!(await isUnattested(store))) return
  const at = timestamp(tools.now())
  for (const collection of attestedCollections)
    for await (const page of keyedPages(store.keyed, collection))
      await store.transaction(async (tx) => {
        const keys = page.map(({ key }) => key)
        const known = await tx.thread.newest(keys.map((key) => subjectOf(collection, key)))
        const said = new Set(known.map(({ decision_id }) => decision_id))
        const acts = (await tx.keyed.get(collection, keys))
          .filter(({ key }) => !said.has(subjectOf(collection, key)))
          .map((record) => actOf(stateAct({ collection, ...record }, at, null, tools), tools))
        await tx.append({ acts })
      })
}
