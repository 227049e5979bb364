/** Acts for tests of the thread, written to a store straight away. */
import { createHash } from 'node:crypto'
import type { Store } from '../../../sdk/storage/store.ts'
import type { NewAct } from '../../../sdk/storage/thread.ts'
import { canonical } from '../../../src/core/canonical.ts'
import { commitmentOf } from '../../../src/domain/ledger/thread/commitment.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function actNumber(number: number): NewAct {
  const [record_id, at] = [`act/${number}`, '2026-07-01T12:00:00.000Z']
  const payload = canonical({ kind: 'call', record_id, at, agent: 'alice', number })
  const salt = sha256(`salt of ${number}`)
  return { record_id, kind: 'call', decision_id: null, at, payload, salt, commitment: commitmentOf(salt, payload) }
}

/** Appends acts with these numbers. */
export const appendActs = (store: Store, from: number, count: number): Promise<void> =>
  store.transaction((tx) => tx.append({ acts: Array.from({ length: count }, (_, at) => actNumber(from + at)) }))
