/** What a grant covers, and what its approver reads. */
import { describe, expect, test } from 'bun:test'
import { type ActionFieldName, actionFields } from '../../../../sdk/schema/action.ts'
import { mostDenied } from '../../../../src/domain/policy/approval/denials.ts'
import type { Action } from '../../../../src/domain/policy/rules/action.ts'
import { ask, asking, hour, rule } from '../../../support/approvals.ts'
import { memoryProgram, type TestProgram } from '../../../support/program.ts'

const approve = (program: TestProgram, id: string) =>
  program.call('decideApproval', { id, decision: 'approve' }, 'carol')
const deny = (program: TestProgram, id: string, reason: string | null = null) =>
  program.call('decideApproval', { id, decision: 'deny', reason }, 'carol')

/** Another value of each field of an action. */
const others: { [N in ActionFieldName]: Action[N] } = {
  description: 'Pay twice',
  category: 'refund',
  stakes: 'low',
  confidence: 0.1,
  tags: ['night'],
  project: 'acme/other',
  pr: 13,
  scope: 'production',
  agent_id: 'bob',
  phase: 'record',
  reason_count: 3,
  quality_score: 0.9,
  instruction_like: true,
  secret_masked: true,
  has_deliberation: true,
  has_reasoning: true,
  has_query: true,
  has_check: true,
}
/** What follows from the way in which the same action is called. The agent is compared beside the action. */
const ofTheCall: ActionFieldName[] = [
  'agent_id',
  'phase',
  'reason_count',
  'quality_score',
  'instruction_like',
  'secret_masked',
  'has_deliberation',
  'has_reasoning',
  'has_query',
  'has_check',
]

test('a grant covers every field of the action that is judged, and fields that are added', async () => {
  const program = await memoryProgram()
  const { action } = asking(program)
  const own = { ...action, pr: 12 }
  const { id } = (await ask(program, asking(program, undefined, { action: own }))).approval!
  await approve(program, id)
  const look = async (changed: object) =>
    (await ask(program, asking(program, undefined, { action: { ...own, ...changed } as Action }), 'look')).granted
  const free: string[] = []
  for (const name of Object.keys(actionFields) as ActionFieldName[])
    if (await look({ [name]: others[name] })) free.push(name)
  expect(free).toEqual(ofTheCall)
  expect(await look({ added_later: 1 })).toBe(false)
  expect(await look({ context: { ...own.context, more: null } })).toBe(false)
  expect(await look({ context: { ...own.context, session_id: 's2' } })).toBe(false)
  expect(await look({})).toBe(true)
})

test('a grant is for acting for the same one: not for its approver, nor for somebody else', async () => {
  const program = await memoryProgram()
  const looks = async (on_behalf_of: string | null) =>
    (await ask(program, asking(program, undefined, { on_behalf_of }), 'look')).granted
  await approve(program, (await ask(program, asking(program, undefined, { on_behalf_of: 'dora' }))).approval!.id)
  expect([await looks('dora'), await looks('carol'), await looks(null)]).toEqual([true, false, false])
})

test('a grant for pull request 12 does not release 13, and its approver reads the number', async () => {
  const program = await memoryProgram()
  await program.rules('- { id: merge, action: step_up, message: Ask, condition_category: merge }')
  const merge = (pr: number) =>
    program.call('checkGuardrails', { action: { description: 'Merge', category: 'merge', project: 'a/b', pr } })
  const { approval } = await merge(12)
  expect((await program.call('getApproval', { id: approval!.id }, 'carol')).action.pr).toBe(12)
  await approve(program, approval!.id)
  expect(await merge(13)).toMatchObject({ allowed: false, verdict: 'step_up' })
  expect(await merge(12)).toMatchObject({ allowed: true })
})

test('a grant covers what rules change in the action, and its approver reads the change', async () => {
  const program = await memoryProgram()
  const rules = (amount: number) =>
    program.rules(`
- { id: pay, action: step_up, message: Ask, condition_category: payment }
- { id: cap, action: modify, modify: { set: { context.amount: ${amount} } }, condition_category: payment }
`)
  const pay = () =>
    program.call('checkGuardrails', { action: { description: 'Pay', category: 'payment', context: { amount: 5_000 } } })
  await rules(100)
  const { id } = (await pay()).approval!
  expect((await program.call('getApproval', { id }, 'carol')).changes).toEqual([
    { field: 'context.amount', before: 5_000, after: 100, rule: 'cap' },
  ])
  await approve(program, id)
  await rules(4_999)
  expect((await pay()).allowed).toBe(false)
  await rules(100)
  expect(await pay()).toMatchObject({ allowed: true, verdict: 'modify' })
})

test('a denied approval answers deny until the denial ends', async () => {
  const program = await memoryProgram()
  await program.rules('- { id: pay, action: step_up, message: Ask, condition_category: payment }')
  const pay = () => program.call('checkGuardrails', { action: { description: 'Pay', category: 'payment' } })
  const first = await pay()
  expect(first.verdict).toBe('step_up')
  await deny(program, first.approval!.id, 'not today')
  const again = await pay()
  expect(again).toMatchObject({ allowed: false, verdict: 'deny', approval: { state: 'denied' } })
  expect(again.violations[0]!.message).toContain('was denied by carol: not today')
  program.clock.now += hour
  expect((await pay()).verdict).toBe('step_up')
})

describe('what the approver reads', () => {
  test.each([
    ['reversed text', 'transfer \u202Egnp.exe', '⟨U+202E⟩'],
    ['a zero-width space', 'rm -rf\u200B /srv', '⟨U+200B⟩'],
    ['a tag character', 'ls \u{E0041}', '⟨U+E0041⟩'],
    ['an escape sequence', '\u001B[2K ls', '⟨U+001B⟩'],
    ['a carriage return', 'rm -rf /\rls', '⟨U+000D⟩'],
  ])('%s is named, and refused in what is asked', async (_, command, shown) => {
    const program = await memoryProgram()
    const { approval, message } = await ask(program, asking(program, { command }))
    expect(approval).toBeNull()
    expect(message).toContain(`characters that a reader can't see, such as ${shown}`)
  })

  test('text of other scripts, emoji and line breaks is asked as it is', async () => {
    const program = await memoryProgram()
    const context = { note: 'Zürich 東京 שלום\r\n\t☺️ 👩‍🚀' }
    const { approval } = await ask(program, asking(program, context))
    expect((await program.call('getApproval', { id: approval!.id }, 'carol')).action.context).toEqual(context)
  })

  test('a name hides no number and no command: what is hidden is hidden by its value, and named', async () => {
    const program = await memoryProgram()
    const key = `ghp_${'a1B2'.repeat(9)}`
    const context = {
      token_amount: 40_000,
      pin_token: 7,
      password: 'rm -rf / --no-preserve-root',
      db_password: 'hunter22',
      note: `use ${key}`,
    }
    const { approval } = await ask(program, asking(program, context))
    const shown = await program.call('getApproval', { id: approval!.id }, 'carol')
    expect(shown.action.context).toMatchObject({
      token_amount: 40_000,
      pin_token: 7,
      password: 'rm -rf / --no-preserve-root',
      db_password: '[redacted]',
    })
    expect(JSON.stringify(shown)).not.toContain(key)
    expect(shown.not_shown).toEqual(['context.db_password: hidden as a secret', 'context.note: hidden as a secret'])
  })

  test('earlier denials of the same agent and rule are shown, and after five a day none is asked', async () => {
    const program = await memoryProgram()
    const evading = (at: number) => asking(program, { command: `pay${' '.repeat(at + 1)}invoice` })
    for (let at = 0; at < mostDenied; at++) {
      const { approval } = await ask(program, evading(at))
      const shown = await program.call('getApproval', { id: approval!.id }, 'carol')
      expect(shown.earlier_denials).toHaveLength(at)
      if (at > 0)
        expect(shown.earlier_denials![0]).toMatchObject({ description: 'Pay', decided_by: 'carol', reason: 'no' })
      await deny(program, approval!.id, 'no')
    }
    const refused = await ask(program, evading(mostDenied))
    expect(refused.approval).toBeNull()
    expect(refused.message).toContain('5 requests for the rule ask-first were denied within 24 hours')
    // Other rules and other agents are not concerned.
    const rules = [{ ...rule, guardrail_id: 'two', text: '{"id":"two"}' }]
    expect((await ask(program, asking(program, undefined, { rules }))).approval!.state).toBe('pending')
    expect((await ask(program, asking(program, undefined, { agent: 'bob' }))).approval!.state).toBe('pending')
    program.clock.now += 24 * hour
    expect((await ask(program, evading(mostDenied))).approval!.state).toBe('pending')
  })
})
