/**
 * The store as the program writes to it: what a transaction does is told to the thread in the same transaction, so that no method can
 * forget it and nothing is acknowledged without its act.
 */
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
import { type ActTools, actCollections, actsOf, type Written } from './acts.ts'

/** The verbs that write, with what they wrote noted once it is written. */
function noting(tx: Transaction, written: Written): Transaction {
  const { decisions, keyed, audit } = tx
  return {
    ...tx,
    decisions: {
      ...decisions,
      async create(record) {
        await decisions.create(record)
        written.decisions.push({ record, revision: 1 })
      },
      async update(record, revision) {
        await decisions.update(record, revision)
        written.decisions.push({ record, revision: revision + 1 })
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
    },
  }
}

/** @param acted called after each transaction that has told the thread something */
export function threaded(store: Store, tools: ActTools, acted: () => void): Store {
  return {
    ...store,
    async transaction(work) {
      let told = false
      const result = await store.transaction(async (tx) => {
        const written: Written = { decisions: [], audit: [], keyed: [] }
        const value = await work(noting(tx, written))
        const acts = actsOf(written, tools)
        told = acts.length > 0
        if (told) await tx.thread.append(acts)
        return value
      })
      if (told) acted()
      return result
    },
  }
}
