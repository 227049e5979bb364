/** What a hook saw being committed is settled by the pull request that holds the commit, on every store. */
import { expect, test } from 'bun:test'
import type { EvidenceClass } from '../../sdk/storage/evidence.ts'
import { canonical } from '../../src/core/canonical.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import * as gh from '../support/github.ts'
import { openHooks } from '../support/hooks.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const project = gh.repo
const day = 86_400_000

forEachBackend((open) => {
  /** A turn that commits; the id of the decision that it becomes. */
  async function commits(program: TestProgram, ...shas: string[]): Promise<string> {
    const { event, bash } = openHooks(program)
    program.clock.now += 1_000
    await event('UserPromptSubmit', { prompt: 'Add a cache' }, { project })
    for (const sha of shas) await bash('git commit -m "Add a cache"', `[cache ${sha}] Adopt a cache`)
    await event('Stop', { stop_hook_active: true })
    const { decisions } = await program.call('listDecisions', { limit: 1 })
    return decisions[0]!.id
  }

  /** A program at the hour of the deliveries. */
  async function opened(): Promise<TestProgram> {
    const program = await open()
    program.clock.now = Date.parse(gh.at(1))
    // What is asked of a model fails.
    program.embedder.health = 'away'
    return program
  }

  async function deliver({ services }: TestProgram, ...given: gh.Example[]): Promise<void> {
    for (const one of given)
      expect(await takeDelivery(services.chain, gh.deliveryOf(one), [])).toMatchObject({ outcome: 'ingested' })
  }

  const tell = ({ services }: TestProgram, evidence_class: EvidenceClass, payload: object) =>
    appendEvents(services.evidence, [
      { ts: gh.at(30), source: 'ci', event_type: 'pr_merged', evidence_class, payload: canonical(payload) },
    ])

  const settle = (program: TestProgram, more: object = {}) => program.call('attributeOutcomes', { project, ...more })
  const short = (name: string): string => gh.sha(name).slice(0, 7)

  test('a commit ties its decision to the pull request, whose merge settles it once it is stable, no matter who asks', async () => {
    const program = await opened()
    const id = await commits(program, short('not pushed'), short('head'))
    expect((await settle(program)).processed).toBe(0)
    await deliver(program, gh.pullRequest('opened', { at: 2 }))
    expect((await settle(program)).decisions).toMatchObject([{ id, pr: 7, outcome: null, basis: 'evidence' }])
    await deliver(program, gh.merged({ at: 3 }))
    program.clock.now += 6 * day
    expect((await settle(program)).attributed).toBe(0)
    program.clock.now += 2 * day
    const found = { id, pr: 7, outcome: 'success', basis: 'evidence' }
    expect((await settle(program, { dry_run: true })).decisions).toMatchObject([{ ...found, applied: false }])
    expect((await program.call('getDecision', { id })).project).toMatchObject({ pr: null })
    expect((await settle(program)).decisions).toMatchObject([{ ...found, applied: true }])
    expect(await program.call('getDecision', { id, revisions: true })).toMatchObject({
      source: 'hook',
      confidence: null,
      outcome: 'success',
      attribution_basis: 'evidence',
      project: { name: project, pr: 7 },
      revisions: [{ fields: ['project'], updated_by: 'evidence:commit' }],
    })
    // A revert corrects it.
    await deliver(program, gh.merged({ number: 8, title: 'Revert "Add a cache"', body: `Reverts ${project}#7`, at: 4 }))
    expect((await settle(program)).decisions).toMatchObject([{ id, outcome: 'failure', applied: true }])
  })

  test('a merge commit, a push to an open pull request and a whole hash tie as well; each to its own', async () => {
    const program = await opened()
    const squashed = await commits(program, short('merge 7'))
    const pushed = await commits(program, gh.sha('more'))
    const others = await commits(program, short('taken in'))
    const branch = { branch: 'next', number: 9, head: 'start' }
    await deliver(
      program,
      gh.merged({ at: 3 }),
      gh.pullRequest('opened', { ...branch, at: 4 }),
      gh.push({
        before: 'start',
        branch: 'next',
        commits: [{ id: 'taken in', distinct: false }, { id: 'more' }],
        at: 5,
      }),
      gh.closed({ ...branch, head: 'more', at: 6 }),
    )
    program.clock.now += 8 * day
    const { decisions } = await settle(program)
    expect(decisions.map(({ id, pr, outcome }) => [id, pr, outcome]).sort()).toEqual(
      [
        [squashed, 7, 'success'],
        [pushed, 9, 'abandoned'],
      ].sort(),
    )
    expect((await program.call('getDecision', { id: others })).outcome).toBeNull()
  })

  test('a commit of another repository, an attested event, a hash that two commits begin with, and two pull requests settle nothing', async () => {
    const program = await opened()
    const [foreign, attested, twin, both] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40)) as string[]
    const ids = [
      await commits(program, foreign!.slice(0, 7)),
      await commits(program, attested!.slice(0, 7)),
      await commits(program, twin!.slice(0, 7)),
      await commits(program, both!.slice(0, 7)),
    ]
    const repo = project
    await tell(program, 'observed', { repo: 'else/app', pr_number: 1, sha: foreign })
    await tell(program, 'observed', { pr_number: 1, sha: foreign })
    await tell(program, 'attested', { repo, pr_number: 1, sha: attested })
    await tell(program, 'observed', { repo, pr_number: 2, sha: twin })
    await tell(program, 'observed', { repo, pr_number: 2, sha: `${twin!.slice(0, 39)}0` })
    await tell(program, 'observed', { repo, pr_number: 3, sha: both })
    await tell(program, 'observed', { repo, pr_number: 4, sha: both })
    program.clock.now += 8 * day
    expect((await settle(program)).processed).toBe(0)
    for (const id of ids) expect(await program.call('getDecision', { id })).toMatchObject({ outcome: null })
  })

  test('neither what others say of a commit nor what is known of it elsewhere hides the pull request', async () => {
    const program = await opened()
    const sha = 'a'.repeat(40)
    const id = await commits(program, sha.slice(0, 7))
    await tell(program, 'attested', { repo: project, pr_number: 5, sha })
    await tell(program, 'attested', { repo: project, pr_number: 5, sha: `${sha.slice(0, 39)}0` })
    await tell(program, 'observed', { repo: 'else/app', pr_number: 6, sha: `${sha.slice(0, 39)}1` })
    await tell(program, 'observed', { repo: project, pr_number: 7, sha })
    program.clock.now += 8 * day
    expect((await settle(program)).decisions).toMatchObject([{ id, pr: 7, outcome: 'success', applied: true }])
  })

  test('what was merged before the hook reported its commit settles nothing, and what a curator reviewed stays', async () => {
    const program = await opened()
    await deliver(program, gh.pullRequest('opened'), gh.merged({ at: 0 }))
    const late = await commits(program, short('head'))
    const reviewed = await commits(program, short('next'))
    await program.call('reviewDecision', { id: reviewed, outcome: 'failure', notes: 'Readers saw old data' }, 'root')
    await deliver(program, gh.merged({ number: 8, head: 'next', at: 3 }))
    program.clock.now += 8 * day
    expect((await settle(program)).decisions).toMatchObject([
      { id: late, pr: 7, outcome: null, reason: expect.stringContaining('before the decision') },
    ])
    expect(await program.call('getDecision', { id: reviewed })).toMatchObject({ outcome: 'failure' })
  })

  const adopt = (program: TestProgram, id: string, confidence: number) =>
    program.call('updateDecision', { id, updates: { confidence } })
  const scores = async (program: TestProgram, id: string) => {
    const { confidence_at_record, outcome } = await program.call('getDecision', { id })
    return [confidence_at_record, outcome]
  }

  test.each<[string, gh.Example[], number | null]>([
    ['a merge', [gh.merged({ at: 3 })], null],
    ['a check of the commit', [gh.suite('head', [])], null],
    ['only that it was opened', [gh.pullRequest('opened', { at: 2 })], 0.9],
    ['nothing of it', [gh.merged({ number: 8, head: 'other', at: 3 })], 0.9],
  ])('confidence that is stated after %s enters a score only if that told nothing', async (_, given, scored) => {
    const program = await opened()
    const id = await commits(program, short('head'))
    await deliver(program, ...given)
    const { unscored } = await adopt(program, id, 0.9)
    expect([(await scores(program, id))[0], unscored === undefined]).toEqual([scored, scored !== null])
    // Nor does a second try.
    await adopt(program, id, 1)
    expect((await scores(program, id))[0]).toBe(scored)
  })

  test('a merge before the confidence was stated settles nothing, however late its evidence arrives', async () => {
    const program = await opened()
    const [late, plain] = [await commits(program, short('head')), await commits(program, short('next'))]
    program.clock.now = Date.parse(gh.at(10))
    await adopt(program, late, 1)
    for (let at = 0; at < 201; at++) await adopt(program, late, 1)
    await deliver(program, gh.merged({ at: 5 }), gh.merged({ number: 8, head: 'next', at: 5 }))
    program.clock.now += 8 * day
    expect((await settle(program)).decisions).toMatchObject([
      { id: late, outcome: null, reason: 'PR 7 was merged before its confidence was stated' },
      { id: plain, outcome: 'success', applied: true },
    ])
    expect(await scores(program, plain)).toEqual([null, 'success'])
  })
})
