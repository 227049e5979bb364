/** Notices of what stops agents: queued with what they report, for those kinds alone that the operator asked for. */
import { afterEach, expect, test } from 'bun:test'
import { type NoticeKind, noticeKinds } from '../../../../src/domain/record/approval/approval.ts'
import { noticeCollection } from '../../../../src/domain/record/approval/notices.ts'
import { deploy, fail, review, rules, scope } from '../../../support/breakers.ts'
import { openMemoryProgram, type TestProgram } from '../../../support/program.ts'

let program: TestProgram
const open = async (kinds: readonly NoticeKind[]): Promise<void> => {
  program = await openMemoryProgram()
  Object.assign(program.services.approvalContext, { notifies: new Set(kinds) })
  await program.rules(rules)
}
afterEach(() => program.close())

interface Notice {
  type: string
  data: Record<string, unknown>
}
const notices = async (): Promise<Notice[]> =>
  (await program.store.keyed.list(noticeCollection, { limit: 100 })).map(({ value }) =>
    JSON.parse((value as { body: string }).body),
  )
const typesOf = async () => (await notices()).map(({ type }) => type).toSorted()
const check = (action: object, more: object = {}) =>
  program.call('checkGuardrails', { action: { description: 'Do it', ...action }, ...more })

test('a breaker that opens, is tried and closes is reported each time, with what opened it', async () => {
  await open(['breakers'])
  await fail(program)
  const [opened, ...others] = await notices()
  expect(others).toEqual([])
  expect(opened).toMatchObject({
    type: 'breaker.open',
    data: {
      scope,
      state: 'open',
      previous_state: 'closed',
      failure_count: 2,
      url: expect.stringContaining('breakers/category%3Adeploy'),
    },
  })
  expect((opened!.data.opened_by as object[]).length).toBe(2)
  await program.call('resetCircuit', { scope, probe_first: true, reason: 'fixed' }, 'root')
  await review(program, await program.record(deploy), 'success')
  // What changes nothing is no news.
  await program.record(deploy)
  expect(await typesOf()).toEqual(['breaker.closed', 'breaker.half_open', 'breaker.open'])
})

test('a blocked action is reported without its context; a dry run is not', async () => {
  await open(['blocks'])
  const blocked = { category: 'never', context: { secret_plan: 'none of the receiver' } }
  await check(blocked, { dry_run: true })
  await check({ category: 'else' })
  expect(await notices()).toEqual([])
  const { record_id } = await check(blocked)
  const [notice] = await notices()
  expect(notice).toMatchObject({
    type: 'action.blocked',
    data: {
      agent: 'alice',
      verdict: 'deny',
      evaluation_id: record_id,
      rules: [{ guardrail_id: 'never', message: 'm' }],
    },
  })
  expect(JSON.stringify(notice)).not.toContain('none of the receiver')
})

test('an agent that is stopped again and again does not fill the queue', async () => {
  await open(['blocks'])
  for (let at = 0; at < 5; at++) await check({ category: 'never', description: `Do ${at}` })
  expect((await notices()).map(({ data }) => data.action)).toMatchObject([{ description: 'Do 0' }])
  await program.call('checkGuardrails', { action: { description: 'Do it', category: 'never' } }, 'bob')
  program.clock.now += 60_000
  await check({ category: 'never' })
  expect((await notices()).map(({ data }) => data.agent).toSorted()).toEqual(['alice', 'alice', 'bob'])
})

test('what nobody asked for is not reported', async () => {
  await open(['approvals'])
  await fail(program)
  await check({ category: 'never' })
  expect(await notices()).toEqual([])
  expect(noticeKinds.length).toBe(4)
})
