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

test('drift that is newly proven is reported once, with its figures; that of nobody else is', async () => {
  for (const agent of ['steady', 'drifter']) await decided(agent, 120, 60, 'success')
  await decided('steady', 3, 40, 'success')
  await decided('drifter', 3, 5, 'success')
  expect(await look()).toBe(0)
  await decided('drifter', 2, 40, 'failure')
  expect(await look()).toBe(1)
  expect(await notices()).toMatchObject([
    {
      type: 'calibration.drift',
      data: {
        agent: 'drifter',
        alerts: expect.arrayContaining([expect.objectContaining({ type: 'accuracy_drop', historical_value: 1 })]),
        recommendation: expect.any(String),
        url: 'http://cstp.test/dashboard/calibration?agent=drifter',
      },
    },
  ])
  // What is known is in the store: a later round, or that of another server, says nothing.
  for (const hours of [1, 30, 100]) {
    program.clock.now += hours * 3_600_000
    expect(await look()).toBe(0)
  }
  expect((await notices()).length).toBe(1)
})

test('two servers that find it at once report it once', async () => {
  await decided('drifter', 120, 60, 'success')
  await decided('drifter', 2, 40, 'failure')
  await Promise.allSettled([look(), look()])
  expect((await notices()).length).toBe(1)
})

test('it is reported again only after it was over for two weeks', async () => {
  await decided('drifter', 120, 60, 'success')
  await decided('drifter', 2, 40, 'failure')
  expect(await look()).toBe(1)
  // The failures leave the recent period; the agent is not looked at while it decides nothing.
  program.clock.now += 31 * dayMs
  expect(await look()).toBe(0)
  await decided('drifter', 1, 40, 'failure')
  expect(await look()).toBe(1)
  expect((await notices()).length).toBe(2)
})
