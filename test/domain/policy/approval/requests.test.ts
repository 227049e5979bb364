/** Approvals on every store: matched exactly, answered once, used once, over restarts and two servers. */
import { expect, test } from 'bun:test'
import { mostWaiting } from '../../../../src/domain/policy/approval/requests.ts'
import { ask, asking, hour, rule } from '../../../support/approvals.ts'
import { forEachBackend, type TestProgram } from '../../../support/program.ts'

const approve = (program: TestProgram, id: string, as: 'carol' | 'approver' = 'carol') =>
  program.call('decideApproval', { id, decision: 'approve' }, as)

forEachBackend((open) => {
  test('asked once while it waits, granted, and used by the next evaluation only', async () => {
    const program = await open()
    const first = await ask(program)
    const { id } = first.approval!
    expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/)
    expect(first).toMatchObject({
      granted: false,
      message: `approval ${id} requested: http://cstp.test/dashboard/approvals/${id}; try again once it is granted`,
    })
    expect((await ask(program)).approval!.id).toBe(id)
    expect((await program.call('listApprovals', {}, 'carol')).total).toBe(1)
    await approve(program, id.replace('-', '').toLowerCase())
    // A look changes nothing.
    expect(await ask(program, asking(program), 'look')).toMatchObject({ granted: true })
    expect(await ask(program, asking(program), 'ask')).toMatchObject({ granted: false })
    expect(await ask(program)).toMatchObject({ granted: true, approval: { id, state: 'consumed' }, message: null })
    const again = await ask(program)
    expect(again.granted).toBe(false)
    expect(again.approval!.id).not.toBe(id)
    const trail = await program.store.audit.list({ limit: 10 })
    expect(trail.map(({ method, agent }) => [method, agent])).toEqual([
      ['approval.requested', 'alice'],
      ['approval.consumed', 'alice'],
      ['approval.decided', 'carol'],
      ['approval.requested', 'alice'],
    ])
  })

  test('other arguments, another agent, another resource and a changed rule are not what was granted', async () => {
    const program = await open()
    const { approval } = await ask(program)
    await approve(program, approval!.id)
    const { action } = asking(program)
    for (const other of [
      asking(program, { amount: 2 }),
      asking(program, { amount: 1, more: true }),
      asking(program, undefined, { agent: 'bob' }),
      asking(program, undefined, { action: { ...action, project: 'acme/shop' } }),
      asking(program, undefined, { action: { ...action, description: 'Pay twice' } }),
      asking(program, undefined, {
        rules: [{ ...rule, text: '{"id":"ask-first","changed":true}' }],
        policy_hash: 'p2',
      }),
      asking(program, undefined, { rules: [rule, { ...rule, guardrail_id: 'two', text: '{"id":"two"}' }] }),
    ]) {
      const { granted, approval: asked } = await ask(program, other)
      expect([granted, asked?.state]).toEqual([false, 'pending'])
      expect(asked!.id).not.toBe(approval!.id)
    }
    // The rule that asked is still the same in a policy that changed elsewhere.
    expect((await ask(program, asking(program, undefined, { policy_hash: 'p2' }))).granted).toBe(true)
  })

  test('no answer is a denial, a grant ends, and a denial holds until its end', async () => {
    const program = await open()
    const first = (await ask(program)).approval!
    program.clock.now += hour
    expect((await program.call('getApproval', { id: first.id })).state).toBe('expired')
    expect((await program.refused('decideApproval', { id: first.id, decision: 'approve' }, 'carol')).message).toContain(
      `${first.id} is expired already`,
    )
    const second = (await ask(program)).approval!
    expect(second.id).not.toBe(first.id)
    await approve(program, second.id)
    program.clock.now += hour
    const third = await ask(program)
    expect(third.granted).toBe(false)
    await program.call('decideApproval', { id: third.approval!.id, decision: 'deny', reason: 'not today' }, 'carol')
    expect(await ask(program)).toMatchObject({
      granted: false,
      approval: { id: third.approval!.id, state: 'denied' },
      message: `approval ${third.approval!.id} was denied by carol: not today`,
    })
    program.clock.now += hour
    expect((await ask(program)).approval!.state).toBe('pending')
  })

  test('remembered for a day, the same action passes until then', async () => {
    const program = await open()
    const remembering = () => asking(program, undefined, { rules: [{ ...rule, remember_ms: 24 * hour }] })
    const { approval } = await ask(program, remembering())
    await approve(program, approval!.id)
    for (let used = 0; used < 3; used++) expect((await ask(program, remembering())).granted).toBe(true)
    program.clock.now += 24 * hour
    expect((await ask(program, remembering())).granted).toBe(false)
  })

  test('rules with other approvers ask for an approval each, and none is used before all are there', async () => {
    const program = await open()
    const both = () =>
      asking(program, undefined, {
        rules: [
          { ...rule, approvers: ['approver'], text: '{"id":"a"}' },
          { ...rule, approvers: ['release-managers'], text: '{"id":"b"}' },
        ],
      })
    const first = (await ask(program, both())).approval!
    expect((await program.call('listApprovals', { state: 'pending' }, 'carol')).total).toBe(2)
    expect((await program.refused('decideApproval', { id: first.id, decision: 'approve' }, 'carol')).code).toBe(-32001)
    await approve(program, first.id, 'approver')
    const second = (await ask(program, both())).approval!
    expect(second.id).not.toBe(first.id)
    expect((await program.call('getApproval', { id: first.id })).state).toBe('approved')
    await approve(program, second.id)
    expect((await ask(program, both())).granted).toBe(true)
    expect((await program.call('listApprovals', { state: 'consumed' }, 'carol')).total).toBe(2)
  })

  test('two servers: of two answers at once the first wins, and of two uses at once one passes', async () => {
    const program = await open()
    const other = await program.second()
    const { id } = (await ask(program)).approval!
    const answers = await Promise.allSettled([
      approve(program, id, 'carol'),
      other.call('decideApproval', { id, decision: 'deny' }, 'approver'),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const { state, decided_by } = await other.call('getApproval', { id })
    expect([state, decided_by]).toEqual(
      answers[0].status === 'fulfilled' ? ['approved', 'carol'] : ['denied', 'approver'],
    )
    const granted = (await ask(program, asking(program, { amount: 7 }))).approval!
    await approve(other, granted.id)
    const uses = await Promise.all([
      ask(program, asking(program, { amount: 7 })),
      ask(other, asking(other, { amount: 7 })),
    ])
    expect(uses.filter((one) => one.granted)).toHaveLength(1)
  })

  test('the requester never decides, others see nothing of it, and a flood ends', async () => {
    const program = await open()
    const own = (await ask(program, asking(program, undefined, { agent: 'root' }))).approval!
    const refused = await program.refused('decideApproval', { id: own.id, decision: 'approve' }, 'root')
    expect([refused.code, refused.message]).toEqual([-32001, `${own.id}: an agent never decides its own request`])
    expect((await program.refused('getApproval', { id: own.id }, 'bob')).message).toBe(
      'Invalid params: id: no approval that bob requested has this id; those of others need the scope approve',
    )
    expect((await program.call('listApprovals', {}, 'bob')).total).toBe(0)
    for (let amount = 0; amount < mostWaiting; amount++) await ask(program, asking(program, { amount }))
    expect(await ask(program, asking(program, { amount: 'one more' }))).toMatchObject({
      granted: false,
      approval: null,
    })
    const page = await program.call('listApprovals', { state: 'pending', limit: 5, offset: 2 })
    expect([page.approvals.length, page.total]).toEqual([5, mostWaiting])
    expect(await ask(program, asking(program, { text: 'x'.repeat(40_000) }))).toMatchObject({ approval: null })
  })

  test('two servers at once: one request for the same action, and no more than may wait', async () => {
    const program = await open()
    const other = await program.second()
    const both = (context: Record<string, unknown>) => [program, other].map((one) => ask(one, asking(one, context)))
    const same = await Promise.all([...both({ amount: 0 }), ...both({ amount: 0 })])
    expect(new Set(same.map(({ approval }) => approval!.id)).size).toBe(1)
    const many = await Promise.all(Array.from({ length: mostWaiting + 5 }, (_, amount) => both({ amount })).flat())
    expect(new Set(many.flatMap(({ approval }) => approval?.id ?? [])).size).toBe(mostWaiting)
    expect((await other.call('listApprovals', { state: 'pending' })).total).toBe(mostWaiting)
  })
})
