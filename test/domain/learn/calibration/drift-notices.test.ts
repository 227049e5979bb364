/** Notices of drift: an agent is reported when its drift is proven, once over restarts, and again after it was over. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { reportDrift } from '../../../../src/domain/learn/calibration/drift-periods.ts'
import { noticeCollection } from '../../../../src/domain/record/approval/notices.ts'
import { openMemoryProgram, type TestProgram } from '../../../support/program.ts'
import { recordOf } from '../../../support/record.ts'

const dayMs = 86_400_000
let program: TestProgram
let made = 0

beforeEach(async () => {
  program = await openMemoryProgram()
  Object.assign(program.services.approvalContext, { notifies: new Set(['drift']) })
})
afterEach(() => program.close())

/** Reviewed decisions of an agent, all of one outcome. */
const decided = (agent: string, days_ago: number, count: number, outcome: 'success' | 'failure') =>
  program.store.transaction(async (tx) => {
    for (let at = 0; at < count; at++) {
      const created_at = new Date(program.clock.now - days_ago * dayMs).toISOString()
      await tx.decisions.put(
        recordOf({
          id: `${created_at.slice(0, 10)}-decision-${(++made).toString(16).padStart(12, '0')}`,
          recorded_by: agent,
          category: null,
          confidence: 0.8,
          confidence_at_record: 0.8,
          created_at,
          status: 'reviewed',
          outcome,
          reviewed_at: created_at,
          reviewed_by: 'lead',
          self_reviewed: false,
        }),
        0,
      )
    }
  })
const look = () => reportDrift(program.services)
const notices = async () =>
  (await program.store.keyed.list(noticeCollection, { limit: 100 })).map(({ value }) =>
    JSON.parse((value as { body: string }).body),
  )

/** A year at one decision a day in which the agent fails in the last month, if it does. */
async function year(agent: string, last: 'success' | 'failure') {
  for (let days = 360; days > 30; days -= 5) await decided(agent, days, 5, 'success')
  for (let days = 30; days > 0; days -= 5) await decided(agent, days, 5, last)
}

test('drift that is newly found is reported once, with its figures; that of nobody else is', async () => {
  await year('steady', 'success')
  expect(await look()).toBe(0)
  await year('drifter', 'failure')
  expect(await look()).toBe(1)
  expect(await notices()).toMatchObject([
    {
      type: 'calibration.drift',
      data: {
        agent: 'drifter',
        since: '2026-06-01',
        alerts: expect.arrayContaining([expect.objectContaining({ type: 'accuracy_drop', historical_value: 1 })]),
        recommendation: expect.any(String),
        url: 'http://cstp.test/dashboard/calibration?agent=drifter',
      },
    },
  ])
  // What is known is in the store: a later round, or that of another server, says nothing, also after the failures are old.
  for (const days of [1, 30, 100]) {
    program.clock.now += days * dayMs
    await decided('drifter', 1, 2, 'failure')
    expect(await look()).toBe(0)
  }
  expect((await notices()).length).toBe(1)
})

test('two servers that find it at once report it once', async () => {
  await year('drifter', 'failure')
  await Promise.allSettled([look(), look()])
  expect((await notices()).length).toBe(1)
})

test('it is reported again only after results had recovered', async () => {
  await year('drifter', 'failure')
  expect(await look()).toBe(1)
  program.clock.now += 60 * dayMs
  for (let days = 60; days > 0; days -= 5) await decided('drifter', days, 5, 'success')
  expect(await look()).toBe(0)
  program.clock.now += 30 * dayMs
  for (let days = 30; days > 0; days -= 5) await decided('drifter', days, 5, 'failure')
  expect(await look()).toBe(1)
  expect((await notices()).length).toBe(2)
})
