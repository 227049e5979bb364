/** Requirements that only evidence satisfies: what counts, what does not, and that no word of the agent changes it, on every store. */
import { describe, expect, test } from 'bun:test'
import type { EvidenceRequirement } from '../../../../sdk/schema/guardrail.ts'
import { takeDelivery } from '../../../../src/domain/ledger/evidence/github/events.ts'
import * as gh from '../../../support/github.ts'
import { forEachBackend, openMemoryProgram, type TestProgram } from '../../../support/program.ts'
import * as fc from '../../../support/property.ts'

const [ann, bea, bot] = [gh.user('ann'), gh.user('bea'), gh.user('helper[bot]', 'Bot')]
const approved = 'evidence: pr_review_approved, by: human, not_by: author, within: 7d, for: context.pr'
const ruleOf = (...requires: string[]) =>
  `- id: reviewed\n  condition_category: deployment\n  requires: [${requires.map((one) => `{ ${one} }`).join(', ')}]\n  message: Needs evidence\n`

async function withRule(program: TestProgram, ...requires: string[]) {
  await program.rules(ruleOf(...requires))
  program.clock.now = Date.parse(gh.at(59))
  const deliver = async (...given: gh.Example[]) => {
    for (const one of given) await takeDelivery(program.services.chain, gh.deliveryOf(one), [])
  }
  const check = (context: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    program.call('checkGuardrails', {
      action: { description: 'Deploy', category: 'deployment', project: gh.repo, context, ...more },
    })
  return { ...program, deliver, check }
}
const opened = gh.pullRequest('opened', { at: 1 })
const approval = gh.review(bea, 'approved', { at: 5 })

forEachBackend((open) => {
  test('an approval on the head satisfies, and the verdict names its record; a claim never does', async () => {
    const { check, deliver, call } = await withRule(await open(), approved)
    const claims = { pr: 7, code_review: true, approved: true, evidence: 'pr_review_approved', satisfied_by: [1] }
    const before = await check(claims)
    expect(before).toMatchObject({ allowed: false, verdict: 'deny', satisfied_by: [] })
    expect(before.violations[0]!.message).toContain(
      'missing evidence: pr_review_approved, by a person, not by the author, within 7d, of acme/app#7 (none was observed)',
    )
    await deliver(opened, approval)
    expect(await check({ pr: 7 })).toMatchObject({
      allowed: true,
      verdict: 'allow',
      violations: [],
      satisfied_by: [{ rule: 'reviewed', seqs: [2] }],
    })
    const { entries } = await call('listAudit', { limit: 1 }, 'root')
    expect(entries[0]!.detail).toMatchObject({ satisfied_by: [{ rule: 'reviewed', seqs: [2] }] })
    await deliver(gh.pullRequest('synchronize', { at: 6, head: 'unseen' }))
    const after = await check({ pr: 7 })
    expect(after.allowed).toBe(false)
    expect(after.violations[0]!.message).toContain('record 2: it is of another commit than the head')
  })

  test('a commit stands for the pull requests that it belongs to', async () => {
    const { check, deliver } = await withRule(
      await open(),
      'evidence: pr_review_approved, by: human',
      'evidence: ci_completed, conclusion: success',
    )
    await deliver(opened, approval, gh.suite('head', [7]), gh.merged({ at: 10 }))
    const seqs = [{ rule: 'reviewed', seqs: [2, 3] }]
    expect(await check({ commit: gh.sha('head') })).toMatchObject({ allowed: true, satisfied_by: seqs })
    expect(await check({ commit: gh.sha('merge 7').toUpperCase() })).toMatchObject({
      allowed: true,
      satisfied_by: seqs,
    })
    expect((await check({ commit: gh.sha('other') })).allowed).toBe(false)
    expect((await check({ commit: gh.sha('head') }, { project: 'acme/other' })).allowed).toBe(false)
  })

  test('what an agent with read and write can do satisfies nothing', async () => {
    const { check, call, refused, record, deliver } = await withRule(await open(), approved)
    await deliver(opened)
    const event = { event_type: 'pr_review_approved', ts: gh.at(5), payload: { repo: gh.repo, pr_number: 7 } }
    expect((await refused('ingestEvidence', { source: 'ci', events: [event] }, 'writer')).data).toMatchObject({
      scope: 'evidence',
    })
    const id = await record({ project: { name: gh.repo, pr: 7 } })
    await call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
    await call('reviewDecision', { id, outcome: 'success' })
    expect((await check({ pr: 7 })).allowed).toBe(false)
  })
})

describe('an approval', () => {
  const cases: [string, gh.Example[], string | null][] = [
    ['by a member, on the head', [opened, approval], null],
    ['by the author', [opened, gh.review(ann, 'approved', { at: 5 })], 'none was observed'],
    ['by a program', [opened, gh.review(bot, 'approved', { at: 5 })], 'no person is known'],
    ['by anyone', [opened, gh.review(bea, 'approved', { at: 5, association: 'NONE' })], 'not by an owner'],
    ['of an older commit', [opened, gh.review(bea, 'approved', { at: 5, on: 'old' })], 'another commit'],
    [
      'that was dismissed',
      [
        opened,
        gh.review(bea, 'approved', { at: 5, id: 5 }),
        gh.review(bea, 'dismissed', { at: 5, id: 5, action: 'dismissed', dismissed_at: 6, sender: ann }),
      ],
      'none was observed',
    ],
    ['before changes were requested', [opened, approval, gh.review(bea, 'changes_requested', { at: 6 })], 'none was'],
    ['of another pull request', [opened, gh.review(bea, 'approved', { at: 5, number: 8 })], 'none was observed'],
    ['of the same number elsewhere', [opened, gh.review(bea, 'approved', { at: 5, repo: 'acme/b' })], 'none was'],
  ]
  test.each(cases)('%s', async (_, deliveries, missing) => {
    const { check, deliver } = await withRule(await openMemoryProgram(), approved)
    await deliver(...deliveries)
    const { allowed, violations } = await check({ pr: 7 })
    expect(allowed).toBe(missing === null)
    if (missing !== null) expect(violations[0]!.message).toContain(missing)
  })

  test('of longer ago does not count, nor one of the future', async () => {
    const { check, deliver, clock } = await withRule(await openMemoryProgram(), approved)
    await deliver(opened, approval)
    clock.now = Date.parse(gh.at(5)) + 7 * 86_400_000 + 1
    expect((await check({ pr: 7 })).violations[0]!.message).toContain('it is not of the last 7d')
    clock.now = Date.parse(gh.at(5)) - 3_600_000
    expect((await check({ pr: 7 })).allowed).toBe(false)
  })

  test('of another connector, which says what it knows', async () => {
    const { check, call } = await withRule(await openMemoryProgram(), approved)
    const ingest = (payload: Record<string, unknown>) =>
      call(
        'ingestEvidence',
        {
          source: 'gitlab',
          events: [
            {
              event_type: 'pr_review_approved',
              ts: gh.at(5),
              payload: { repo: gh.repo, pr_number: 7, actor_is_human: true, reviewer: 'bea', ...payload },
            },
          ],
        },
        'root',
      )
    await ingest({})
    expect((await check({ pr: 7 })).violations[0]!.message).toContain('somebody else than the author')
    await ingest({ author: 'ann' })
    expect(await check({ pr: 7 })).toMatchObject({ allowed: true, satisfied_by: [{ seqs: [2] }] })
  })
})

describe('a check', () => {
  const success = 'evidence: ci_completed, conclusion: success'
  const run = (name: string, conclusion: string, minute: number, head = 'head'): gh.Example => ({
    kind: 'check_run',
    body: {
      action: 'completed',
      check_run: {
        id: minute,
        name,
        head_sha: gh.sha(head),
        conclusion,
        pull_requests: [],
        app: { slug: 'actions' },
        completed_at: gh.at(minute),
      },
      repository: { id: gh.repo.length, full_name: gh.repo },
      sender: ann,
    },
  })
  test.each<[string, gh.Example[], boolean]>([
    ['that succeeded', [opened, run('test', 'success', 5)], true],
    ['that failed', [opened, run('test', 'failure', 5)], false],
    ['that failed and then succeeded', [opened, run('test', 'failure', 5), run('test', 'success', 6)], true],
    ['that succeeded and then failed', [opened, run('test', 'success', 5), run('test', 'failure', 6)], false],
    ['delivered in another order', [opened, run('test', 'failure', 6), run('test', 'success', 5)], false],
    ['beside one that failed', [opened, run('test', 'success', 5), run('lint', 'failure', 5)], false],
    ['beside one that was skipped', [opened, run('test', 'success', 5), run('lint', 'skipped', 5)], true],
    [
      'of the head before the last push',
      [opened, run('test', 'success', 5), gh.pullRequest('synchronize', { at: 6, head: 'next' })],
      false,
    ],
  ])('%s', async (_, deliveries, allowed) => {
    const { check, deliver } = await withRule(await openMemoryProgram(), success)
    await deliver(...deliveries)
    expect((await check({ pr: 7 })).allowed).toBe(allowed)
  })

  test.each<[string, string, gh.Example[], boolean]>([
    ['by its name', 'check: test', [run('test', 'success', 5)], true],
    ['by its name, beside another green one', 'check: test', [run('lint', 'success', 5)], false],
    [
      'by its name, beside one that failed',
      'check: test',
      [run('test', 'success', 5), run('lint', 'failure', 5)],
      false,
    ],
    ['by its app', 'app: actions', [run('test', 'success', 5)], true],
    ['by another app', 'app: build-service', [run('test', 'success', 5)], false],
  ])('that a rule names %s', async (_, named, deliveries, allowed) => {
    const { check, deliver } = await withRule(await openMemoryProgram(), `${success}, ${named}`)
    await deliver(opened, ...deliveries)
    expect((await check({ pr: 7 })).allowed).toBe(allowed)
  })
})

test.each([
  ['no project', { pr: 7 }, { project: undefined }, 'the action names no project'],
  ['no pull request', {}, {}, 'context.pr names no pull request or commit'],
  ['a pull request that is none', { pr: 'latest' }, {}, 'context.pr names no pull request or commit'],
  ['a list of pull requests', { pr: [7] }, {}, 'context.pr names no pull request or commit'],
])('an action with %s lacks the evidence', async (_, context, more, said) => {
  const { check, deliver } = await withRule(await openMemoryProgram(), approved)
  await deliver(opened, approval)
  const { allowed, violations } = await check(context, more)
  expect(allowed).toBe(false)
  expect(violations[0]!.message).toContain(said)
})

test('no context whatsoever replaces evidence', async () => {
  const { check } = await withRule(await openMemoryProgram(), approved)
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), fc.nat(20), async (context, pr) => {
      expect((await check({ ...(JSON.parse(JSON.stringify(context)) as object), pr })).allowed).toBe(false)
    }),
    { numRuns: 50 },
  )
})

test('a merge that was reverted is no evidence of a merge', async () => {
  const requirement: EvidenceRequirement = { evidence: 'pr_merged' }
  const { check, deliver } = await withRule(await openMemoryProgram(), `evidence: ${requirement.evidence}`)
  await deliver(opened, gh.merged({ at: 5 }))
  expect((await check({ pr: 7 })).allowed).toBe(true)
  await deliver(gh.merged({ number: 9, title: 'Revert "x"', body: `Reverts ${gh.repo}#7`, at: 9 }))
  expect((await check({ pr: 7 })).violations[0]!.message).toContain('it was reverted')
})

test('the pull request of the action itself counts if the context names none', async () => {
  const { check, deliver } = await withRule(await openMemoryProgram(), approved)
  await deliver(opened, approval)
  expect((await check({}, { pr: 7 })).allowed).toBe(true)
  expect((await check({ pr: 8 }, { pr: 7 })).allowed).toBe(false)
})

test('a record in block mode needs the evidence too, of its own project and pull request', async () => {
  const { deliver, record, refused, services } = await withRule(await openMemoryProgram(), approved)
  services.record_guardrails = 'block'
  const decision = { decision: 'Deploy', category: 'deployment', project: { name: gh.repo, pr: 7 } }
  const error = await refused('recordDecision', { ...decision, confidence: 0.9, action_context: { approved: true } })
  expect(JSON.stringify(error.data)).toContain('missing evidence')
  await deliver(opened, approval)
  expect(await record(decision)).toContain('-decision-')
})
