/** Decisions of another version are indexed again in the background, once, and nothing of them changes but their index. */
import { expect, test } from 'bun:test'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { readDecisions } from '../../../sdk/storage/decisions.ts'
import { keyedPages, outboxCollection } from '../../../sdk/storage/keyed.ts'
import { followTexts } from '../../../src/domain/search/follow-texts.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { recordOf, testStart } from '../../support/record.ts'

const plain = recordOf({ decision: 'Use SQLite' })
const reviewed = recordOf({ decision: 'Use Redis', actual_result: 'faster', lessons: 'measure' })

/** A store with the terms of another version, and a server's job on it. */
async function harness(records: DecisionRecord[]) {
  let ofBefore = true
  const now = () => testStart
  const store = openMemoryStore({ analyse: (record) => (ofBefore ? 'before' : analyse(record)), now })
  await store.transaction(async (tx) => {
    for (const record of records) await tx.decisions.put(record, 0)
  })
  ofBefore = false
  const queued = async () => {
    const ids: string[] = []
    for await (const page of keyedPages(store.keyed, outboxCollection)) ids.push(...page.map(({ key }) => key))
    return ids
  }
  const terms = async () =>
    new Map((await store.feed.since(0, 1, 99)).map((entry) => [entry.id, entry.terms.split(' ')] as const))
  const follow = async (made_by?: string) => {
    const options = { store, now, after: () => () => {}, yieldToEventLoop: async () => {}, failed: () => {} }
    const job = followTexts(made_by === undefined ? options : { ...options, made_by })
    const counts = [await job.drain(), await job.drain()]
    await job.close()
    return counts
  }
  return { store, queued, terms, follow }
}

test('a store of the first version: what came of a decision is found, and its revision and text are as before', async () => {
  const { store, queued, terms, follow } = await harness([plain, reviewed])
  const before = await readDecisions(store.decisions, [plain.id, reviewed.id])
  expect(await follow()).toEqual([1, 0])
  expect(await queued()).toEqual([reviewed.id])
  expect((await terms()).get(reviewed.id)).toContain('measur')
  expect((await terms()).get(plain.id)).toEqual(['before'])
  expect(await readDecisions(store.decisions, [plain.id, reviewed.id])).toEqual(before)
  expect(await follow()).toEqual([0, 0])
})

test('a store that another version indexed: every decision', async () => {
  const { queued, terms, follow } = await harness([plain, reviewed])
  await follow('another version')
  expect(await follow()).toEqual([2, 0])
  expect((await queued()).toSorted()).toEqual([plain.id, reviewed.id].toSorted())
  expect((await terms()).get(plain.id)).toContain('sqlite')
})

test('an empty store is marked, so that its own decisions are not indexed twice', async () => {
  const { store, queued, follow } = await harness([])
  expect(await follow()).toEqual([0, 0])
  await store.transaction((tx) => tx.decisions.put(reviewed, 0))
  expect(await follow()).toEqual([0, 0])
  expect(await queued()).toEqual([])
})
