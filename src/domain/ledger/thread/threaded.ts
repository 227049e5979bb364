/**
 * The store as the program writes to it: each transaction also appends its acts to the thread, so that no method can forget them and
 * nothing is acknowledged without its act.
 */
import { redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { type ActTools, actCollections, actsOf, type Written } from './acts.ts'

/** A transaction that notes its writes once they are done. */
function noting(tx: Transaction, written: Written, { now }: ActTools): Transaction {
  const { decisions, keyed } = tx
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
      put(collection, key, value, options) {
        if (!actCollections.has(collection)) return keyed.put(collection, key, value, options)
        return keyed.put(collection, key, value, options).then(() => void written.keyed.push({ collection, value }))
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
    async transaction(work) {
      let hasActs = false
      const result = await store.transaction(async (tx) => {
        const written: Written = { decisions: [], audit: [], keyed: [] }
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
