/** Counters of the embedded store: whatever was done to it, they are what a recount gives, and a reader that follows them agrees. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import { type DecisionRecord, stakesValues } from '../../../sdk/schema/decision.ts'
import { changedRecord, expectCounts } from '../../../sdk/storage/conformance/store/counters.ts'
import { createAll, idOf } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { filterFields, scoredValue } from '../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFields, Store } from '../../../sdk/storage/store.ts'
import { yamlOf } from '../../../src/core/yaml.ts'
import { connectReader } from '../../../src/drivers/shared/sqlite/connect.ts'
import { statementsOf } from '../../../src/drivers/store/sqlite/connect.ts'
import { inTurns } from '../../../src/drivers/store/sqlite/read.ts'
import { type Counter, wrongCounters } from '../../../src/drivers/store/sqlite/recount.ts'
import { correctCounters, findWrongCounters } from '../../../src/drivers/store/sqlite/recounting.ts'
import { type Tallies, tallies } from '../../../src/drivers/store/sqlite/tallies.ts'
import * as fc from '../../support/property.ts'
import { behind, freshDir, openAt, pathOf } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const vector = Float32Array.of(1, 0)
const vectors = { structure: vector, function: vector, both: vector }
const wrong = (dir: string): Counter[] => behind(dir, (db) => wrongCounters(db))

interface Known {
  record: DecisionRecord
  indexed: boolean
  /** Whether its file was taken away. */
  gone: boolean
}

/** What is done to the decision of a number, in the store or to its file; a seed makes the record. */
const step = fc.record({
  kind: fc.constantFrom('write', 'write', 'due', 'embed', 'drop', 'edit', 'touch', 'take', 'bring', 'fail'),
  number: fc.nat(7),
  seed: fc.nat(10_000),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const numbersFrom = (seed: number) => {
  let state = seed + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function apply(dir: string, store: Store, known: Map<number, Known>, { kind, number, seed }: Step) {
  const [before, id] = [known.get(number), idOf(number)]
  const changed = changedRecord(number, numbersFrom(seed))
  // Another day of review alone moves no decision from one combination to another.
  const record = kind === 'due' && before ? { ...before.record, review_by: changed.review_by } : changed
  const path = pathOf(dir, id)
  const write = async (fails: boolean): Promise<void> => {
    await store.transaction(async (tx) => {
      const now = await readDecision(tx.decisions, id)
      if (now) await tx.decisions.put(record, now.revision)
      else await tx.decisions.put(record, 0)
      if (fails) throw new Error('not this time')
    })
  }
  if (before?.gone) {
    if (kind !== 'bring') return
    renameSync(`${path}.aside`, path)
    await store.reconcile()
    known.set(number, { ...before, gone: false })
  } else if (kind === 'fail') await expect(write(true)).rejects.toThrow('not this time')
  else if (kind === 'write' || kind === 'due') {
    await write(false)
    known.set(number, { indexed: false, gone: false, ...before, record })
  } else if (before === undefined) return
  else if (kind === 'embed' || kind === 'drop') {
    await store.transaction((tx) =>
      kind === 'embed' ? tx.embeddings.put(id, { embedder: 'test:1', vectors }) : tx.embeddings.put(id, null),
    )
    known.set(number, { ...before, indexed: kind === 'embed' })
  } else if (kind === 'edit' || kind === 'touch') {
    const text = yamlOf(kind === 'edit' ? record : before.record)
    // An edit that changes nothing but a comment is one all the same.
    writeFileSync(path, kind === 'edit' ? text : `${text}# ${seed}\n`)
    await store.reconcile()
    known.set(number, { record: kind === 'edit' ? record : before.record, indexed: false, gone: false })
  } else if (kind === 'take') {
    renameSync(path, `${path}.aside`)
    await store.reconcile()
    known.set(number, { ...before, gone: true })
  }
}

const [hour_ms, middle_ms] = [3_600_000, Date.UTC(2026, 0, 20, 12)]

/** Expects what is asked again and again, with bounds that move on, to be what a look at every decision gives. */
async function expectMoving({ decisions }: Store, there: readonly DecisionFields[], step: number): Promise<void> {
  const now_ms = middle_ms + 20 * (step - 10) * hour_ms
  const [pending, later] = [['pending' as const], now_ms - 240 * hour_ms]
  for (const filter of [
    { created_to_ms: later },
    { agent: 'ada', created_from_ms: later, created_to_ms: now_ms },
    { status: pending, created_from_ms: middle_ms - 480 * hour_ms, review_by_to_ms: now_ms },
    { status: pending, stakes: ['low' as const], created_from_ms: later, review_by_to_ms: now_ms },
  ]) {
    const passing = there.filter(compileFilter(filter))
    expect([filter, await decisions.count(filter)]).toEqual([filter, passing.length])
    const groups = await decisions.outcomes(filter, 'category')
    const counted = groups.flatMap(({ count, ...group }) => Array.from({ length: count }, () => JSON.stringify(group)))
    const looked = passing.flatMap(({ confidence_at_record: confidence, outcome, settled_by, category }) =>
      category === null ? [] : [JSON.stringify({ confidence, outcome, settled_by, category })],
    )
    expect([filter, counted.sort()]).toEqual([filter, looked.sort()])
    const scored = (await decisions.scores(filter)).reduce((sum, { count }) => sum + count, 0)
    expect(scored).toBe(
      passing.filter((fields) => scoredValue({ ...fields, confidence: fields.confidence_at_record }) !== null).length,
    )
  }
}

test('counters are a recount after any sequence of writes, vectors, failures, and edits of files', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
      const dir = freshDir()
      const store = await openAt(dir)
      // One that follows from the start, as another process does.
      const other = await openAt(dir)
      await store.transaction((tx) => tx.embeddings.start('test:1', 2))
      const known = new Map<number, Known>()
      const fieldsNow = () =>
        [...known.values()].flatMap(({ record, indexed, gone }) => (gone ? [] : filterFields(record, indexed)))
      for (const [number, one] of steps.entries()) {
        await apply(dir, store, known, one)
        await expectMoving(other, fieldsNow(), number)
        // The days that it keeps must follow, too.
        await other.decisions.count({ created_from_ms: Date.UTC(2026, 0, 20) })
        await other.decisions.count({ created_from_ms: Date.UTC(2026, 0, 10), created_to_ms: Date.UTC(2026, 0, 21) })
        expect(wrong(dir)).toEqual([])
      }
      const fields = fieldsNow()
      await expectCounts({ expect }, other, fields)
      await expectCounts({ expect }, store, fields)
      await store.close()
      await other.close()
    }),
    { numRuns: 12 },
  )
})

test('wrong counters are found, each by its name, and corrected by a reconciliation; who remembers them reads them again', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = numbersFrom(1)
  const records = Array.from({ length: 20 }, (_, number) => changedRecord(number, next))
  await createAll(store, records)
  await store.transaction(async (tx) => {
    await tx.embeddings.start('test:1', 2)
    for (const { id } of records.slice(0, 9)) await tx.embeddings.put(id, { embedder: 'test:1', vectors })
  })
  const fields = records.map((record, at) => filterFields(record, at < 9))
  await expectCounts({ expect }, store, fields)
  const damages: [Counter, string][] = [
    ['totals', 'update totals set decisions = decisions + 7'],
    ['value_totals', `delete from value_totals where field = 'tag'`],
    ['tags', 'insert into tags (tag, num) values (char(120), 1)'],
    [
      'places',
      `update decisions set place = (select number from places where agent <> decisions.agent limit 1) where num = 3`,
    ],
    ['outcome_groups', 'update decisions set outcome_group = 999 where num = 4'],
    ['indexed', 'update decisions set indexed = 1 - indexed'],
    ['reason_totals', 'update reason_totals set uses = uses + 1'],
  ]
  for (const [counter, damage] of damages) {
    expect(wrong(dir)).toEqual([])
    behind(dir, (db) => db.run(damage))
    expect(wrong(dir)).toContain(counter)
    await store.reconcile()
    expect(wrong(dir)).toEqual([])
    await expectCounts({ expect }, store, fields)
  }
  await store.close()
})

test('days that are not kept are read again: an answer is the same with room for a few decisions as with room for all', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = numbersFrom(2)
  const records = Array.from({ length: 30 }, (_, number) => changedRecord(number, next))
  await createAll(store, records)
  const statements = statementsOf(connectReader(`${dir}/cstp.db`))
  const small = tallies(statements, 4)
  const all = records.map((record) => filterFields(record, false))
  for (const from of all)
    for (const to of all.slice(0, 6)) {
      const [created_from_ms, created_to_ms] = [from.created_ms, to.created_ms]
      const expected = all.filter((one) => one.created_ms >= created_from_ms && one.created_ms <= created_to_ms)
      let found = 0
      small.visit({ created_from_ms, created_to_ms }, (_place, _group, decisions) => {
        found += decisions
      })
      expect(found).toBe(expected.length)
    }
  statements.finalize()
  await store.close()
})

test('what a span needs is read in steps of a day, once; what is written between them is counted', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = numbersFrom(7)
  const made = (number: number) => ({
    ...changedRecord(number, next),
    status: 'pending' as const,
    outcome: null,
    reviewed_at: null,
    review_by: '2026-03-01',
    created_at: `2026-02-0${1 + (number % 5)}T10:00:00.000Z`,
  })
  const records = Array.from({ length: 20 }, (_, number) => made(number))
  await createAll(store, records.slice(0, 10))
  const statements = statementsOf(connectReader(`${dir}/cstp.db`))
  const [followed, small] = [tallies(statements), tallies(statements, 3)]
  const span = { created_from_ms: Date.parse('2026-02-02'), created_to_ms: Date.parse('2026-02-05T12:00:00Z') }
  const due = { ...span, status: ['pending' as const], review_by_to_ms: Date.parse('2026-03-02') }
  const passing = (of: Tallies) => () => {
    let found = 0
    of.visit({ ...span, stakes: [...stakesValues] }, (_place, _group, decisions) => {
      found += decisions
    })
    return [found, of.due(due)]
  }
  const [first, ...others] = followed.tried(passing(followed)).steps
  first!()
  await createAll(store, records.slice(10))
  followed.changed()
  for (const step of others) step()
  const expected = records.filter((_, number) => number % 5 > 0).length
  expect(followed.tried(passing(followed))).toEqual({ answer: [expected, expected], steps: [] })
  // More than is kept is read at once.
  expect(small.tried(passing(small))).toEqual({ answer: [expected, expected], steps: [] })
  statements.finalize()
  await store.close()
})

test('steps that take long together let other work in between', async () => {
  const busy = () => {
    for (const end = performance.now() + 5; performance.now() < end; );
  }
  expect(await letsOthersIn(inTurns(Array.from({ length: 8 }, () => busy)))).toBe(true)
})

test('who falls behind the changes that are kept reads the totals again', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const other = await openAt(dir)
  const next = numbersFrom(3)
  const records = Array.from({ length: 12 }, (_, number) => changedRecord(number, next))
  await createAll(store, records.slice(0, 4))
  expect(await other.decisions.count({})).toBe(4)
  await createAll(store, records.slice(4))
  // As ten thousand later changes would.
  behind(dir, (db) => db.run('delete from deltas where number < (select max(number) from deltas)'))
  await expectCounts(
    { expect },
    other,
    records.map((record) => filterFields(record, false)),
  )
  await other.close()
  await store.close()
})

test('a transaction counts what an earlier one of its group has written, and not what one of them failed to', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = numbersFrom(4)
  const [first, second] = [1, 2].map((number) => ({ ...changedRecord(number, next), recorded_by: `agent ${number}` }))
  const filter = { created_from_ms: 0 }
  const [, failed, counted] = await Promise.all([
    store.transaction((tx) => tx.decisions.put(first!, 0)),
    store
      .transaction(async (tx) => {
        await tx.decisions.put(second!, 0)
        throw new Error('not this time')
      })
      .catch(() => 'failed'),
    store.transaction(async (tx) => [
      await tx.decisions.count(filter),
      await tx.decisions.count({ agent: 'agent 1' }),
      await tx.decisions.count({ agent: 'agent 2' }),
      (await tx.decisions.outcomes(filter)).length,
    ]),
  ])
  expect([failed, counted]).toEqual(['failed', [1, 1, 0, 1]])
  await store.close()
})

test('a day that is kept follows each change of it', async () => {
  const dir = freshDir()
  const [store, other] = [await openAt(dir), await openAt(dir)]
  const next = numbersFrom(5)
  const created_at = '2026-01-20T10:00:00.000Z'
  const records = Array.from({ length: 6 }, (_, number) => ({ ...changedRecord(number, next), created_at }))
  const filter = { created_from_ms: Date.parse(created_at), created_to_ms: Date.parse(created_at) }
  for (const [at, record] of records.entries()) {
    await createAll(store, [record])
    expect(await other.decisions.count(filter)).toBe(at + 1)
  }
  // What is due of its pending decisions: one more of the same day, and one whose review was moved.
  const due = { ...filter, status: ['pending' as const], review_by_to_ms: Date.parse('2026-02-01') }
  const before = await other.decisions.count(due)
  const late = { ...records[0]!, id: idOf(6), outcome: null, reviewed_at: null, status: 'pending' as const }
  await createAll(store, [{ ...late, review_by: '2026-02-02' }])
  expect(await other.decisions.count(due)).toBe(before)
  await store.transaction((tx) => tx.decisions.put({ ...late, review_by: '2026-01-31' }, 1))
  expect(await other.decisions.count(due)).toBe(before + 1)
  await other.close()
  await store.close()
})

/** Whether other work of the process had its turn before this was done. */
async function letsOthersIn(work: Promise<unknown>): Promise<boolean> {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  await work
  clearInterval(timer)
  return turns > 0
}

test('while counters are compared and counted again, the process answers, and what is written waits', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = numbersFrom(6)
  const records = Array.from({ length: 20 }, (_, number) => changedRecord(number, next))
  await createAll(store, records.slice(0, 19))
  behind(dir, (db) => db.run('update totals set decisions = decisions + 7'))
  expect(await letsOthersIn(findWrongCounters(`${dir}/cstp.db`))).toBe(true)
  expect(await letsOthersIn(correctCounters(`${dir}/cstp.db`))).toBe(true)
  expect(wrong(dir)).toEqual([])
  behind(dir, (db) => db.run('update totals set decisions = decisions + 7'))
  const ended: string[] = []
  const reconciled = store.reconcile().then(() => ended.push('reconciled'))
  await readDecision(store.decisions, idOf(3)).then(() => ended.push('read'))
  await createAll(store, records.slice(19))
  await reconciled
  expect(ended).toEqual(['read', 'reconciled'])
  expect(wrong(dir)).toEqual([])
  await expectCounts(
    { expect },
    store,
    records.map((record) => filterFields(record, false)),
  )
  await store.close()
})
