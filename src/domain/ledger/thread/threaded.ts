/**
 * The store as the program writes to it: each transaction also appends its acts to the thread, so that no method can forget them and
 * nothing is acknowledged without its act.
 */
import { redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { type ActTools, actCollections, actsOf, type Written } from './acts.ts'

/** A transaction that notes its writes once they are done. */
function noting(tx: Transaction, written: Written, { now }: ActTools): Transaction {
  const { decisions, keyed, audit } = tx
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
    audit: {
      ...audit,
      async append(entry) {
        await audit.append(entry)
        written.audit.push(entry)
      },
      // Audit entries that a store adds by itself.
      async expire(query) {
        const at_ms = now()
        const removed = await audit.expire({ ...query, at_ms })
        if (removed > 0) written.audit.push(retentionEntry(removed, query.before_ms, at_ms))
        return removed
      },
    },
    async erase({ audit: redaction, ...rest }) {
      if (!redaction) return tx.erase(rest)
      const { lines, redacted_by } = redaction
      const at_ms = now()
      await tx.erase({ ...rest, audit: { lines, redacted_by, at_ms } })
      const seqs = lines.map(({ seq }) => seq)
      if (seqs.length > 0) written.audit.push(redactionEntry(seqs, redacted_by, at_ms))
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
        if (hasActs) await tx.thread.append(acts)
        return value
      })
      if (hasActs) acted()
      return result
    },
  }
}
