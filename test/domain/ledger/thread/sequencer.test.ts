/** How soon acts get their places: at once for a server alone, and later the more of them do so. */
import { expect, test } from 'bun:test'
import { openMemoryEvidence } from '../../../../docs/examples/driver/evidence.ts'
import { openMemoryStore } from '../../../../docs/examples/driver/store.ts'
import { actOf } from '../../../../src/domain/ledger/thread/acts.ts'
import { openThread, type ThreadOptions } from '../../../../src/domain/ledger/thread/sequencer.ts'
import { analyse } from '../../../../src/domain/search/terms.ts'
import { testStart } from '../../../support/record.ts'

const rounds_ms = [0, 1_000]

const tools = {
  now: () => testStart,
  randomHex: (bytes: number) => crypto.getRandomValues(Buffer.alloc(bytes)).toString('hex'),
}
const newStore = () => openMemoryStore({ analyse, now: tools.now })
const opened = (store: ThreadOptions['store'], after: ThreadOptions['after']) =>
  openThread({
    ...{ ...tools, store, evidence: openMemoryEvidence(), after },
    signer: { name: 'test', id: 'test', sign: () => '' } as unknown as ThreadOptions['signer'],
    failed(error) {
      throw error
    },
  })

test('a write that nobody waits for is made after the end, too', async () => {
  const thread = opened(newStore(), () => () => {})
  await thread.close()
  const made = Promise.withResolvers<void>()
  thread.later(async () => made.resolve())
  await made.promise
})

test('servers that give places beside each other each wait longer, and one that is alone again does not', async () => {
  const store = newStore()
  let acts = 0
  const open = () => {
    const waits: number[] = []
    const after: ThreadOptions['after'] = (ms, run) => {
      if (!rounds_ms.includes(ms)) {
        waits.push(ms)
        run()
      }
      return () => {}
    }
    const thread = opened(store, after)
    return async () => {
      const act = {
        kind: 'call',
        record_id: `call-${acts++}`,
        decision_id: null,
        at: 'now',
        agent: null,
        detail: {},
      } as const
      await store.transaction((tx) => tx.append({ acts: [actOf(act, tools)] }))
      thread.wake()
      await thread.sequence()
      return waits.at(-1)
    }
  }
  const [one, other] = [open(), open()]
  expect([await one(), await one(), await one()]).toEqual([50, 50, 50])
  // Each hears of the other by where the thread ends.
  const both: (number | undefined)[][] = []
  for (let round = 0; round < 6; round++) both.push([await other(), await one()])
  expect(both).toEqual([
    [50, 50],
    [50, 100],
    [100, 200],
    [200, 400],
    [400, 400],
    [400, 400],
  ])
  await one()
  expect(await one()).toBe(50)
})
