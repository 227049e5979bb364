/** What deliveries of GitHub become: the mapping, the counts of approvals, reverts and forks. */
import { describe, expect, test } from 'bun:test'
import type { EvidenceClass } from '../../../../sdk/storage/evidence.ts'
import { appendEvents } from '../../../../src/domain/ledger/evidence/chain.ts'
import { mapEvidence } from '../../../../src/domain/ledger/evidence/controls.ts'
import { pullRequestOf } from '../../../../src/domain/record/decision/commits.ts'
import { loadControls } from '../../../../src/policy/files.ts'
import * as gh from '../../../support/github.ts'

const ann = gh.user('ann')
const bea = gh.user('bea')
const cyd = gh.user('cyd')
const bot = gh.user('reviewer[bot]', 'Bot')
const counts = ({ payload }: gh.Told) => [payload.approval_count, payload.human_approval_count]
const revert = (number: number) => `This reverts commit ${gh.sha(`merge ${number}`)}.`

describe('pull requests', () => {
  test('a life: opened, more commits, approved, checked, merged', async () => {
    const { tell, evidence } = gh.openTaker()
    const told = await tell(
      gh.pullRequest('opened', { at: 1 }),
      gh.pullRequest('synchronize', { at: 2, head: 'second' }),
      gh.review(bea, 'approved', { at: 3, head: 'second' }),
      gh.suite('second', [7]),
      gh.merged({ at: 10, head: 'second', sender: bea }),
    )
    expect(told.map((events) => events.map(({ event_type, ts }) => [event_type, ts]))).toEqual([
      [['pr_opened', gh.at(1)]],
      [['pr_commit', gh.at(2)]],
      [['pr_review_approved', gh.at(3)]],
      [['ci_completed', gh.at(9)]],
      [['pr_merged', gh.at(10)]],
    ])
    const known = {
      repo: gh.repo,
      pr_number: 7,
      title: 'Add a cache',
      author: 'ann',
      is_agent_authored: false,
      sha: gh.sha('second'),
      head_ref: 'cache',
      head_repo: gh.repo,
      base_ref: 'main',
      delivery_id: expect.any(String),
      body_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    }
    expect(told[2]![0]!.payload).toEqual({
      ...known,
      action: 'submitted',
      state: 'approved',
      review_id: 4,
      reviewer: 'bea',
      author_association: 'MEMBER',
      reviewed_sha: gh.sha('second'),
      sender: 'bea',
      actor_is_human: true,
      approval_count: 1,
      human_approval_count: 1,
      stale_approval_count: 0,
      outside_approval_count: 0,
    })
    expect(told[3]![0]!.payload).toMatchObject({
      repo: gh.repo,
      pr_number: 7,
      conclusion: 'success',
      app: 'github-actions',
    })
    expect(told[4]![0]!.payload).toEqual({
      ...known,
      action: 'closed',
      sender: 'bea',
      actor_is_human: true,
      merge_commit_sha: gh.sha('merge 7'),
      merged_by: 'bea',
      approval_count: 1,
      human_approval_count: 1,
      stale_approval_count: 0,
      outside_approval_count: 0,
      history_complete: true,
    })
    for (const record of await evidence.read(1, 10)) {
      expect(record.source).toBe('webhook:github')
      expect(record.evidence_class).toBe('observed')
    }
  })

  test('closed without a merge, and opened again', async () => {
    const [shut, again] = await gh.openTaker().tell(gh.closed({ at: 4 }), gh.pullRequest('reopened', { at: 5 }))
    expect([shut![0]!.event_type, shut![0]!.ts]).toEqual(['pr_closed', gh.at(4)])
    expect([again![0]!.event_type, again![0]!.ts]).toEqual(['pr_opened', gh.at(5)])
    expect(again![0]!.payload.action).toBe('reopened')
  })

  test('who is an agent: accounts of type Bot, logins that say so, and those of the settings', async () => {
    const { tell } = gh.openTaker(['Coder', 'helper[bot]'])
    const authored = async (author: ReturnType<typeof gh.user> | null) => {
      const [[opened]] = (await tell(gh.pullRequest('opened', { author, sender: author ?? ann }))) as [gh.Told[]]
      const { author: name, is_agent_authored, agent_type, actor_is_human } = opened!.payload
      return [name, is_agent_authored, agent_type, actor_is_human]
    }
    expect(await authored(ann)).toEqual(['ann', false, undefined, true])
    expect(await authored(gh.user('Copilot', 'Bot'))).toEqual(['Copilot', true, 'Copilot', false])
    expect(await authored(gh.user('dependabot[bot]'))).toEqual(['dependabot[bot]', true, 'dependabot', false])
    expect(await authored(gh.user('coder'))).toEqual(['coder', true, 'coder', false])
    expect(await authored(gh.user('Helper'))).toEqual(['Helper', true, 'Helper', false])
    expect(await authored(gh.user('acme', 'Organization'))).toEqual(['acme', false, undefined, false])
    expect(await authored(null)).toEqual([undefined, undefined, undefined, true])
  })

  test('a fork, one that was deleted too', async () => {
    const told = await gh
      .openTaker()
      .tell(
        gh.pullRequest('opened', { fork: 'else/app', head: 'theirs' }),
        gh.closed({ fork: null }),
        gh.suite('theirs', []),
      )
    expect(told.map(([event]) => [event!.payload.repo, event!.payload.head_repo, event!.payload.pr_number])).toEqual([
      [gh.repo, 'else/app', 7],
      [gh.repo, null, 7],
      [gh.repo, undefined, 7],
    ])
  })

  test('checks without a pull request have no number, and those of another repository’s are ignored', async () => {
    const foreign = gh.suite('lonely', [3])
    const { check_suite } = foreign.body as { check_suite: { pull_requests: { base: { repo: { id: number } } }[] } }
    check_suite.pull_requests[0]!.base.repo.id = 99
    const told = await gh.openTaker().tell(gh.suite('lonely', []), foreign, gh.suite('both', [3, 4]))
    expect(told.map((events) => events.map(({ payload }) => payload.pr_number))).toEqual([
      [undefined],
      [undefined],
      [3, 4],
    ])
    expect(told[0]![0]!.payload).not.toHaveProperty('pr_number')
  })
})

describe('approvals', () => {
  const merge = async (...reviews: gh.Example[]) => {
    const { tell } = gh.openTaker()
    const told = await tell(gh.pullRequest('opened'), ...reviews, gh.merged({ at: 50 }))
    return counts(told.at(-1)![0]!)
  }
  test.each<[string, gh.Example[], [number, number]]>([
    ['none', [], [0, 0]],
    ['two people', [gh.review(bea, 'approved', { at: 1 }), gh.review(cyd, 'approved', { at: 2 })], [2, 2]],
    ['one person twice', [gh.review(bea, 'approved', { at: 1 }), gh.review(bea, 'approved', { at: 2 })], [1, 1]],
    ['a bot', [gh.review(bot, 'approved', { at: 1 })], [1, 0]],
    ['the author', [gh.review(ann, 'approved', { at: 1 })], [0, 0]],
    ['a deleted account', [gh.review(null, 'approved', { at: 1, sender: bea })], [0, 0]],
    [
      'changes wanted after',
      [gh.review(bea, 'approved', { at: 1 }), gh.review(bea, 'changes_requested', { at: 2 })],
      [0, 0],
    ],
    [
      'changes wanted before',
      [gh.review(bea, 'changes_requested', { at: 1 }), gh.review(bea, 'approved', { at: 2 })],
      [1, 1],
    ],
    [
      'delivered in another order',
      [gh.review(bea, 'approved', { at: 2 }), gh.review(bea, 'changes_requested', { at: 1 })],
      [1, 1],
    ],
    ['a comment after', [gh.review(bea, 'approved', { at: 1 }), gh.review(bea, 'commented', { at: 2 })], [1, 1]],
    [
      'dismissed',
      [
        gh.review(bea, 'approved', { at: 1, id: 5 }),
        gh.review(bea, 'dismissed', { at: 1, id: 5, action: 'dismissed', dismissed_at: 3, sender: ann }),
      ],
      [0, 0],
    ],
    [
      'dismissed and approved again',
      [
        gh.review(bea, 'approved', { at: 1, id: 5 }),
        gh.review(bea, 'dismissed', { at: 1, id: 5, action: 'dismissed', dismissed_at: 3, sender: ann }),
        gh.review(bea, 'approved', { at: 4, id: 6 }),
      ],
      [1, 1],
    ],
    ['after the merge, delivered before it', [gh.review(bea, 'approved', { at: 51 })], [0, 0]],
    [
      'dismissed after the merge, delivered before it',
      [
        gh.review(bea, 'approved', { at: 1, id: 5 }),
        gh.review(bea, 'dismissed', { at: 1, id: 5, action: 'dismissed', dismissed_at: 51, sender: ann }),
      ],
      [1, 1],
    ],
    [
      'one person in two spellings',
      [
        gh.review(bea, 'approved', { at: 1 }),
        gh.review({ ...bea, login: bea.login.toUpperCase() }, 'changes_requested', { at: 2 }),
      ],
      [0, 0],
    ],
    [
      'the author in another spelling',
      [gh.review({ ...ann, login: ann.login.toUpperCase() }, 'approved', { at: 1 })],
      [0, 0],
    ],
    ['another pull request', [gh.review(bea, 'approved', { at: 1, number: 8 })], [0, 0]],
    ['the same number elsewhere', [gh.review(bea, 'approved', { at: 1, repo: 'acme/other' })], [0, 0]],
  ])('%s', async (_, reviews, expected) => expect(await merge(...reviews)).toEqual(expected))

  type Short = { cm1: boolean; reason: unknown }
  const shortOf = async (...reviews: gh.Example[]): Promise<Short> => {
    const { evidence, tell } = gh.openTaker()
    await tell(gh.pullRequest('opened'), ...reviews, gh.merged({ at: 50, head: 'final' }))
    const { seq } = await evidence.head()
    const mapped = await mapEvidence(evidence, loadControls(), seq, async () => {})
    const { mappings, shortfalls } = mapped.verdicts[mapped.verdictOf[seq - 1]!]!
    return {
      cm1: mappings.some(({ function_id }) => function_id === 'CM-1'),
      reason: shortfalls.find(({ function_id }) => function_id === 'CM-1')?.reason,
    }
  }
  test.each<[string, gh.Example[], Short]>([
    ['a member, on the merged head', [gh.review(bea, 'approved', { head: 'final' })], { cm1: true, reason: undefined }],
    [
      'an owner and a stranger',
      [
        gh.review(bea, 'approved', { head: 'final', association: 'OWNER' }),
        gh.review(cyd, 'approved', { head: 'final', association: 'NONE' }),
      ],
      { cm1: true, reason: undefined },
    ],
    ...['NONE', 'CONTRIBUTOR', 'FIRST_TIMER', 'member', null].map((association): [string, gh.Example[], Short] => [
      `an approval by ${association}`,
      [gh.review(bea, 'approved', { head: 'final', association })],
      { cm1: false, reason: expect.stringContaining('not owners, members or collaborators') },
    ]),
    [
      'an approval of the head before the last push',
      [gh.review(bea, 'approved', { at: 1 }), gh.pullRequest('synchronize', { at: 2, head: 'final' })],
      { cm1: false, reason: expect.stringContaining('earlier commit') },
    ],
    [
      'an approval that was given to an older commit later',
      [gh.review(bea, 'approved', { at: 3, head: 'final', on: 'head' })],
      { cm1: false, reason: expect.stringContaining('earlier commit') },
    ],
  ])('before a merge: %s', async (_, reviews, expected) => expect(await shortOf(...reviews)).toEqual(expected))

  test('each review says how many stand after it; a dismissal is the act of the one who dismisses', async () => {
    const told = await gh
      .openTaker()
      .tell(
        gh.review(bea, 'approved', { at: 1, id: 5 }),
        gh.review(bot, 'approved', { at: 2, id: 6 }),
        gh.review(bea, 'dismissed', { at: 1, id: 5, action: 'dismissed', dismissed_at: 3, sender: bot }),
      )
    expect(
      told.map(([event]) => [event!.event_type, event!.ts, event!.payload.actor_is_human, ...counts(event!)]),
    ).toEqual([
      ['pr_review_approved', gh.at(1), true, 1, 1],
      ['pr_review_approved', gh.at(2), false, 2, 1],
      ['pr_review_comment', gh.at(3), false, 1, 0],
    ])
  })

  test('a merge says whether the webhook was there from the start', async () => {
    const [[event]] = (await gh.openTaker().tell(gh.merged())) as [gh.Told[]]
    expect(event!.payload).toMatchObject({ approval_count: 0, history_complete: false })
  })

  test('events that others ingest do not count', async () => {
    const { evidence, tell } = gh.openTaker()
    await tell(gh.review(bea, 'approved', { at: 1 }))
    const [own] = await evidence.read(1, 1)
    await appendEvents(evidence, [{ ...own!, source: 'github', payload: own!.payload.replace('"bea"', '"cyd"') }])
    expect(counts((await tell(gh.merged({ at: 2 })))[0]![0]!)).toEqual([1, 1])
  })
})

describe('reverts', () => {
  const reverted = (told: gh.Told[][]) =>
    told
      .at(-1)!
      .filter(({ event_type }) => event_type === 'pr_reverted')
      .map(({ payload }) => payload.pr_number)

  test('GitHub’s button: the merge of the pull request that it makes', async () => {
    const told = await gh
      .openTaker()
      .tell(
        gh.merged({ number: 12, title: 'Risky', author: bot }),
        gh.merged({ number: 15, title: 'Revert "Risky"', body: 'Reverts acme/app#12', at: 5, sender: bea }),
      )
    expect(told[1]!.map(({ event_type }) => event_type)).toEqual(['pr_merged', 'pr_reverted'])
    expect(told[1]![1]).toMatchObject({
      ts: gh.at(5),
      payload: {
        repo: gh.repo,
        pr_number: 12,
        title: 'Risky',
        is_agent_authored: true,
        merge_commit_sha: gh.sha('merge 12'),
        reverted_by_pr: 15,
        reverted_by_sha: gh.sha('merge 15'),
        sender: 'bea',
        actor_is_human: true,
      },
    })
  })

  test('by number, where the merge was not seen', async () => {
    const told = await gh
      .openTaker()
      .tell(gh.merged({ number: 15, title: 'Revert x', body: 'Reverts #12\r\nand more' }))
    expect(reverted(told)).toEqual([12])
  })

  test.each<[string, gh.Example]>([
    ['opened, not merged', gh.pullRequest('opened', { number: 15, title: 'Revert x', body: 'Reverts acme/app#12' })],
    ['closed without a merge', gh.closed({ number: 15, title: 'Revert x', body: 'Reverts acme/app#12' })],
    ['another repository', gh.merged({ number: 15, title: 'Revert x', body: 'Reverts else/app#12' })],
    ['in passing', gh.merged({ number: 15, title: 'Revert x', body: 'Unlike this, it Reverts acme/app#12 wholly' })],
    ['a title of something else', gh.merged({ number: 15, title: 'Feature', body: 'Reverts acme/app#12' })],
    ['itself', gh.merged({ number: 12, title: 'Revert x', body: 'Reverts acme/app#12' })],
    ['into another branch', gh.merged({ number: 15, base: 'next', title: 'Revert x', body: 'Reverts acme/app#12' })],
    ['pushed to another branch', gh.push({ before: 'x', branch: 'next', commits: [{ id: 'r', message: revert(12) }] })],
    ['a tag', gh.push({ before: 'x', ref: 'refs/tags/main', commits: [{ id: 'r', message: revert(12) }] })],
    ['pushed elsewhere', gh.push({ before: 'x', repo: 'else/app', commits: [{ id: 'r', message: revert(12) }] })],
    ['a commit that was no merge', gh.push({ before: 'x', commits: [{ id: 'r', message: revert(13) }] })],
    ['a commit that is only named', gh.push({ before: 'x', commits: [{ id: 'r', message: `See: ${revert(12)}` }] })],
  ])('no revert: %s', async (_, given) => {
    expect(reverted(await gh.openTaker().tell(gh.merged({ number: 12 }), given))).toEqual([])
  })

  test('by commit: pushed, with -m 1, or in the text of a pull request', async () => {
    const first = gh.merged({ number: 12 })
    const message = `Revert "x"\n\nThis reverts commit ${gh.sha('merge 12')}, reversing\nchanges made to ${gh.sha('y')}.`
    for (const given of [
      gh.push({ before: 'x', commits: [{ id: 'other' }, { id: 'r', message: `Revert "x"\n\n${revert(12)}` }], at: 3 }),
      gh.push({ before: 'x', commits: [{ id: 'r', message }], at: 3 }),
      gh.merged({ number: 15, title: 'Take it back', body: revert(12), at: 3 }),
    ]) {
      const told = await gh.openTaker().tell(first, given)
      expect(reverted(told)).toEqual([12])
      expect(told[1]!.at(-1)!.ts.slice(0, 19)).toBe(gh.at(3).slice(0, 19))
    }
  })

  const classes = async ({ evidence }: ReturnType<typeof gh.openTaker>) =>
    (await evidence.read(1, 100))
      .filter(({ event_type }) => event_type === 'pr_reverted')
      .map(({ evidence_class }) => evidence_class)
  const risky = gh.merged({ number: 12, title: 'Risky' })

  test.each<[string, gh.Example, EvidenceClass]>([
    ['GitHub’s button', gh.merged({ number: 15, title: 'Revert "Risky"', body: 'Reverts acme/app#12' }), 'observed'],
    ['the button again', gh.merged({ number: 15, title: 'Reapply "x"', body: 'Reverts Acme/App#12\n' }), 'observed'],
    ['another title', gh.merged({ number: 15, title: 'Revert risky', body: 'Reverts acme/app#12' }), 'inferred'],
    ['no repository', gh.merged({ number: 15, title: 'Revert "Risky"', body: 'Reverts #12' }), 'inferred'],
    ['the text of a pull request', gh.merged({ number: 15, body: revert(12) }), 'inferred'],
    ['a commit', gh.push({ before: 'x', commits: [{ id: 'r', message: `Revert "x"\n\n${revert(12)}` }] }), 'inferred'],
  ])('only the link of GitHub’s button is observed: %s', async (_, given, expected) => {
    const taker = gh.openTaker()
    await taker.tell(risky, given)
    expect(await classes(taker)).toEqual([expected])
  })

  test('what was inferred before is observed once the button says so, and never the other way', async () => {
    const taker = gh.openTaker()
    const words = gh.merged({ number: 14, body: revert(12) })
    const button = gh.merged({ number: 15, title: 'Revert "Risky"', body: 'Reverts acme/app#12' })
    await taker.tell(risky, words, button, gh.merged({ number: 16, body: revert(12) }))
    expect(await classes(taker)).toEqual(['inferred', 'observed'])
  })

  const hidden: [string, (line: string) => string][] = [
    ['a comment', (line) => `Fix\n\n<!--\n${line}\n-->\nDone`],
    ['a comment in a paragraph', (line) => `Fix <!-- x\n${line}\n--> done`],
    ['a comment that never ends', (line) => `<!-- a --><!--\n${line}`],
    ['a fence', (line) => `\`\`\`\n${line}\n\`\`\`\n`],
    ['a fence of tildes', (line) => `~~~ text\n${line}\n~~~`],
    ['a fence after a comment with a fence', (line) => `\`\`\`\n<!--\n\`\`\`\n-->\n\`\`\`\n${line}\n\`\`\``],
    ['a fence after a fence in a list', (line) => `- x\n\n  \`\`\`\na\n  \`\`\`\n${line}\n\`\`\``],
    ['a span of code', (line) => `See \`\n${line}\n\` here`],
    ['an indented block', (line) => `See\n\n    ${line}`],
    ['an element', (line) => `<details>\n\n${line}\n\n</details>`],
    ['an attribute', (line) => `Fix <b title="\n${line}\n">x</b>`],
    ['the title of a link', (line) => `[x]: /url '\n${line}\n'`],
    ['a quotation', (line) => `> ${line}`],
  ]
  test.each(hidden)('no revert: hidden in %s', async (_, hide) => {
    const body = hide(revert(12))
    const link = gh.merged({ number: 15, title: 'Revert "Risky"', body: hide('Reverts acme/app#12') })
    const push = gh.push({ before: 'x', commits: [{ id: 'r', message: `Fix (#14)\n\n${body}` }] })
    for (const given of [gh.merged({ number: 14, title: 'Fix', body }), link, push])
      expect(reverted(await gh.openTaker().tell(risky, given))).toEqual([])
  })

  test('text after a comment, in another paragraph, is still read', async () => {
    const body = `<!-- Describe your change -->\n\nIt broke \`main\`.\r\n\r\n${revert(12)}\r\n<!-- ${revert(13)} -->`
    expect(reverted(await gh.openTaker().tell(risky, gh.merged({ number: 14, title: 'Fix', body })))).toEqual([12])
  })

  test('two deliveries about one revert make one event', async () => {
    const taker = gh.openTaker()
    const button = gh.merged({ number: 15, title: 'Revert x', body: 'Reverts acme/app#12' })
    const commits = [
      { id: 'r', message: revert(12) },
      { id: 's', message: revert(12) },
    ]
    expect(reverted(await taker.tell(gh.merged({ number: 12 }), gh.push({ before: 'x', commits })))).toEqual([12])
    expect(reverted(await taker.tell(button))).toEqual([])
  })
})

describe('pushes', () => {
  const commitsOf = (told: gh.Told[][]) =>
    told.map((events) => events.map(({ event_type, payload }) => [event_type, payload.pr_number, payload.sha]))

  test('commits on the head of an open pull request are its commits, once', async () => {
    const { tell } = gh.openTaker()
    const told = await tell(
      gh.pullRequest('opened', { author: bot }),
      gh.push({ before: 'head', branch: 'cache', commits: [{ id: 'a' }, { id: 'b' }] }),
      gh.pullRequest('synchronize', { head: 'b' }),
      gh.pullRequest('synchronize', { head: 'd' }),
      gh.push({ before: 'b', branch: 'cache', commits: [{ id: 'c' }, { id: 'd' }] }),
    )
    expect(commitsOf(told).slice(1)).toEqual([
      [
        ['pr_commit', 7, gh.sha('a')],
        ['pr_commit', 7, gh.sha('b')],
      ],
      [],
      [['pr_commit', 7, gh.sha('d')]],
      [['pr_commit', 7, gh.sha('c')]],
    ])
    expect(told[1]![0]!.payload).toMatchObject({ is_agent_authored: true, commit_author: 'ann', title: 'Add a cache' })
  })

  test('what was pushed before a pull request was opened is of it, over several pushes; its head is named last', async () => {
    const { tell, evidence } = gh.openTaker()
    const told = await tell(
      gh.push({ before: 'base', branch: 'cache', commits: [{ id: 'old', distinct: false }, { id: 'a' }] }),
      gh.push({ before: 'a', branch: 'cache', commits: [{ id: 'b' }, { id: 'head' }] }),
      gh.push({ before: 'b', branch: 'other', commits: [{ id: 'c' }] }),
      gh.push({ before: 'base', branch: 'main', commits: [{ id: 'd' }] }),
      gh.pullRequest('opened'),
      gh.merged({ at: 2 }),
      // Work that goes on in the branch is of the next one.
      gh.push({ before: 'head', branch: 'cache', commits: [{ id: 'e' }, { id: 'f' }] }),
      gh.pullRequest('opened', { number: 8, head: 'f' }),
    )
    expect(told[1]![0]!.payload.commits).toEqual(['a', 'b', 'head'].map(gh.sha))
    expect(commitsOf(told).slice(3)).toEqual([
      [],
      [
        ['pr_commit', 7, gh.sha('a')],
        ['pr_commit', 7, gh.sha('b')],
        ['pr_opened', 7, gh.sha('head')],
      ],
      [['pr_merged', 7, gh.sha('head')]],
      [['branch_pushed', undefined, gh.sha('f')]],
      [
        ['pr_commit', 8, gh.sha('e')],
        ['pr_opened', 8, gh.sha('f')],
      ],
    ])
    const pullOf = (id: string) => pullRequestOf(evidence, gh.repo, [gh.sha(id).slice(0, 7)])
    expect(await Promise.all(['a', 'b', 'head', 'c', 'd', 'e'].map(pullOf))).toEqual([7, 7, 7, null, null, 8])
  })

  test('a pull request of a fork has none of the commits of a branch of the same name', async () => {
    const told = await gh
      .openTaker()
      .tell(
        gh.push({ before: 'base', branch: 'cache', commits: [{ id: 'a' }, { id: 'head' }] }),
        gh.pullRequest('opened', { fork: 'eve/app' }),
      )
    expect(commitsOf(told)[1]).toEqual([['pr_opened', 7, gh.sha('head')]])
  })

  test.each<[string, gh.Example, Parameters<typeof gh.push>[0]]>([
    ['closed before', gh.closed({ at: 2 }), { before: 'head', branch: 'cache', commits: [{ id: 'a' }] }],
    ['merged before', gh.merged({ at: 2 }), { before: 'head', branch: 'cache', commits: [{ id: 'a' }] }],
    ['another branch at the commit', gh.suite('z', []), { before: 'head', branch: 'main', commits: [{ id: 'a' }] }],
    [
      'another repository',
      gh.suite('z', []),
      { before: 'head', branch: 'cache', repo: 'else/app', commits: [{ id: 'a' }] },
    ],
  ])('not its commits: %s', async (_, between, pushed) => {
    const told = await gh.openTaker().tell(gh.pullRequest('opened'), between, gh.push(pushed))
    expect(told[2]!.filter(({ event_type }) => event_type !== 'branch_pushed')).toEqual([])
  })
})
