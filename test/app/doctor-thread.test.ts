/** cstp doctor compares the seals of sessions with the thread. */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Settings } from '../../src/app/config/config.ts'
import { checkSessions, checkThread } from '../../src/app/doctor/thread.ts'
import { markPath, writeMark } from '../../src/app/thread-mark.ts'
import { actOf } from '../../src/domain/ledger/thread/acts.ts'
import { freshDir, openAt } from '../drivers/store/sqlite-tools.ts'
import { testSigner } from '../support/program.ts'
import { allActs } from '../support/thread.ts'

const at = '2026-01-01T00:00:00.000Z'
let salts = 0
const tools = { now: () => 0, randomHex: (bytes: number) => (salts++).toString(16).padStart(2 * bytes, '0') }
const act = (kind: 'action' | 'session', record_id: string, detail: Record<string, unknown>) =>
  actOf(
    { kind, record_id, decision_id: null, at, agent: 'ada', detail: { session: 'ada:claude-code:s1', ...detail } },
    tools,
  )

test('a session of which an action is missing is found, and nothing where all are there', async () => {
  for (const actions of [12, 11]) {
    const dir = freshDir()
    const store = await openAt(dir)
    const done = Array.from({ length: actions }, (_, number) => act('action', `action-${number}`, {}))
    const seal = act('session', 'seal', { actions: 12, verdicts: {}, first_index: 1, last_index: actions })
    await store.transaction((tx) => tx.append({ acts: [...done, seal] }))
    await allActs(store)
    await store.close()
    const findings = await Array.fromAsync(checkSessions.run({ store_url: null, data_dir: dir } as Settings))
    expect(findings.map(({ what }) => what)).toEqual(
      actions === 12 ? [] : ['session ada:claude-code:s1: 12 actions sealed, 11 found'],
    )
  }
})

test('a mark that was deleted is named, with what can still be compared', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await store.transaction((tx) => tx.append({ acts: [act('session', 'seal', { actions: 0, verdicts: {} })] }))
  await allActs(store)
  mkdirSync(dirname(markPath(dir)))
  await writeMark(dir, store.thread, testSigner)
  await store.close()
  const settings = { store_url: null, data_dir: dir, drivers: [], provenance_db: null } as unknown as Settings
  const said = async () => (await Array.fromAsync(checkThread.run(settings))).map(({ what, fix }) => `${what}: ${fix}`)
  const isOfMark = (text: string) => text.includes('thread.mark')
  expect((await said()).filter(isOfMark)).toEqual([])
  rmSync(markPath(dir))
  expect((await said()).filter(isOfMark)).toEqual([
    `${markPath(dir)} is missing, although the ledger has 1 entries: nothing shows any more whether the ledger was set back to an earlier state: compare its size with the checkpoint of a witness, or with a backup; the service writes a new mark`,
  ])
})
