/** Decisions that stand elsewhere: ADR folders, beads and YAML files come in once, with dates, links and outcomes, and go out as ADRs. */
import { expect, test } from 'bun:test'
import { appendFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, cstp, inTemporaryDir, root, run, testDir } from '../support/process.ts'

const local = (dir: string) => async (args: string[], input?: string) => {
  const ended = await cstp([...args, '--local', '--json'], bareEnv(dir), input)
  return { ...ended, json: args[0] === 'export' && args[1] !== 'adr' ? null : JSON.parse(ended.out || 'null') }
}
const files = async (folder: string): Promise<[string, string][]> =>
  Promise.all((await readdir(folder)).sort().map(async (name) => [name, await readFile(join(folder, name), 'utf8')]))

const one = `# 1. Use one database

## Status

Superseded by [2. Use two](0002-use-two.md)

## Decision

One.
`
const two = `# 2. Use two databases

Date: 2024-05-06

## Status

Accepted

## Decision

Two.

## Links

* Supersedes [1. Use one database](0001-use-one.md)
* Depends on [Nothing](0009-nothing.md)
`

testNeeding('git', 'an ADR folder is imported once, with links, statuses and the days that git knows', () =>
  inTemporaryDir(async (dir) => {
    const folder = join(dir, 'repo/docs/adr')
    const git = async (...args: string[]) => {
      const env = {
        ...bareEnv(dir),
        ...{ GIT_AUTHOR_NAME: 'ada', GIT_AUTHOR_EMAIL: 'ada@example.com', GIT_AUTHOR_DATE: '2023-02-03T04:05:06Z' },
        ...{ GIT_COMMITTER_NAME: 'ada', GIT_COMMITTER_EMAIL: 'ada@example.com' },
      }
      expect(await run(['git', ...args], { cwd: join(dir, 'repo'), env })).toMatchObject({ status: 0 })
    }
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '0001-use-one.md'), one)
    await writeFile(join(folder, '0002-use-two.md'), two)
    await writeFile(join(folder, 'README.md'), '# Decisions\n\nOf this project.\n')
    await writeFile(join(folder, 'template.md'), one)
    await git('init', '-q')
    await git('remote', 'add', 'origin', 'git@example.com:acme/shop.git')
    await git('add', '.')
    await git('commit', '-q', '-m', 'Decisions')

    const call = local(join(dir, 'data'))
    const dry = await call(['import', 'adr', folder, '--dry-run'])
    expect(dry.json).toMatchObject({ imported: 2, dry_run: true })
    const first = await call(['import', 'adr', folder])
    expect(first).toMatchObject({ status: 0, json: { imported: 2, linked: 1, skipped: 0, incomplete: 0 } })
    expect(first.json.left_out).toEqual([
      { file: 'README.md', reason: expect.stringContaining('no decision record') },
      { file: '0002-use-two.md', reason: expect.stringContaining('0009-nothing.md') },
    ])
    const { decisions } = (await call(['call', 'listDecisions', '{"sort":"created_at","order":"asc"}'])).json
    expect(decisions).toMatchObject([
      {
        decision: 'Use one database\n\nOne.',
        created_at: '2023-02-03T04:05:06.000Z',
        tags: ['status:superseded'],
        source_key: 'adr:acme/shop/docs/adr/0001-use-one.md',
        project: { name: 'acme/shop' },
        confidence: null,
        category: null,
      },
      {
        created_at: '2024-05-06T00:00:00.000Z',
        tags: ['status:accepted'],
        links: [{ edge_type: 'supersedes', effective: true }],
      },
    ])
    expect((await call(['import', 'adr', folder])).json).toMatchObject({ imported: 0, existing: 2, linked: 0 })
  }),
)

test('an export of ADRs is level with the store, makes the same decisions, and overwrites nothing of others', async () => {
  const dir = await testDir()
  const [call, copy] = [local(join(dir, 'data')), local(join(dir, 'copy'))]
  const [out, again] = [join(dir, 'out'), join(dir, 'again')]
  await call(['import', join(root, 'docs/demo/decisions.jsonl')])
  expect((await call(['export', 'adr', out])).json).toMatchObject({ written: 26, unchanged: 0, removed: 0 })
  const written = await files(out)
  expect((await call(['export', 'adr', out])).json).toMatchObject({ written: 0, unchanged: 26, removed: 0 })

  expect((await copy(['import', 'adr', out, '--trust-scores'])).json).toMatchObject({
    imported: 26,
    reviewed: 24,
    linked: 14,
    incomplete: 0,
  })
  await copy(['export', 'adr', again])
  expect(await files(again)).toEqual(written)

  // What is gone from the store goes from the folder; what somebody else wrote stays.
  await writeFile(join(out, 'notes.md'), '# Notes\n')
  const empty = local(join(dir, 'empty'))
  expect((await empty(['export', 'adr', out])).json).toMatchObject({ written: 0, removed: 26 })
  expect(await readdir(out)).toEqual(['notes.md'])

  const [name] = written[0]!
  await appendFile(join(again, name), 'A remark.\n')
  const refused = await copy(['export', 'adr', again])
  expect(refused).toMatchObject({ status: 1 })
  expect(refused.err + refused.out).toContain(`edited since they were exported, so nothing was written: ${name}`)
  await rm(join(again, name))
  await writeFile(join(again, name), '# Mine\n')
  const foreign = await copy(['export', 'adr', again])
  expect(foreign.err + foreign.out).toContain(`written by something else, so nothing was written: ${name}`)
  expect(await readFile(join(again, name), 'utf8')).toBe('# Mine\n')
})

test('decisions of beads come with outcomes that their reason for closing says, and links between them', async () => {
  const dir = await testDir()
  const call = local(dir)
  const issue = (id: string, more: object) =>
    JSON.stringify({
      id,
      title: `Decide ${id}`,
      issue_type: 'decision',
      status: 'open',
      created_at: '2026-01-02T03:04:05Z',
      ...more,
    })
  const lines = [
    issue('b-1', {
      close_reason: 'Implemented in two days',
      status: 'closed',
      labels: ['api'],
      description: 'Why',
      design: 'How',
    }),
    issue('b-2', { close_reason: 'Ada said so', status: 'closed', created_by: 'ada' }),
    issue('b-3', {
      dependencies: [
        { issue_id: 'b-3', depends_on_id: 'b-1', type: 'blocks' },
        { issue_id: 'b-3', depends_on_id: 'b-9', type: 'blocks' },
      ],
    }),
    issue('b-9', { issue_type: 'task' }),
    '[]',
  ].join('\n')
  const first = await call(['import', 'beads', '-'], lines)
  expect(first).toMatchObject({ status: 1, json: { imported: 3, reviewed: 1, linked: 1, skipped: 1 } })
  expect(first.json.problems).toEqual([{ line: 5, reason: 'is no issue: expected an object' }])
  const { decisions } = (await call(['call', 'listDecisions', '{}'])).json
  const of = (key: string) => decisions.find((one: { source_key: string }) => one.source_key === `beads:${key}`)
  expect(of('b-1')).toMatchObject({
    outcome: 'success',
    actual_result: 'Implemented in two days',
    tags: ['api'],
    context: 'Why\n\n### Design\n\nHow',
    confidence: null,
  })
  expect(of('b-2')).toMatchObject({ outcome: null, recorded_by: 'ada', context: '### Closed\n\nAda said so' })
  expect(of('b-3').links).toMatchObject([{ edge_type: 'depends_on', target_id: of('b-1').id }])
  expect((await call(['import', 'beads', '-'], lines)).json).toMatchObject({
    imported: 0,
    existing: 3,
    reviewed: 0,
    linked: 0,
  })
})

const foreign = `id: 1a2b3c4d
summary: Use two regions
decision: Use two regions
category: architecture
confidence: 0.8
stakes: high
status: reviewed
date: '2026-02-03T04:05:06+00:00'
context: One was lost.
reasons:
- {type: analysis, text: It survives, strength: 0.9}
trace:
- {step: 1, thought: Count regions}
deliberation:
  inputs:
  - {id: i1, text: The outage, source: incident}
  steps:
  - {step: 1, thought: Compare}
review_by: '2026-03-05'
tags: [regions]
pre_decision: {query_run: true, similar_found: 2, guardrails_checked: true, guardrails_passed: true}
recorded_by: ada
project: acme/shop
pr: 7
file: regions.ts
commit: abc1234
outcome: success
actual_result: It held.
`

test('YAML files of this program and of others come in with everything that they say', async () => {
  const dir = await testDir()
  const [call, copy] = [local(join(dir, 'data')), local(join(dir, 'copy'))]
  const out = join(dir, 'yaml')
  await call(['import', join(root, 'docs/demo/decisions.jsonl')])
  await call(['export', '--yaml', out])
  expect((await copy(['import', 'cstp-yaml', out])).json).toMatchObject({
    imported: 26,
    reviewed: 24,
    linked: 14,
    skipped: 0,
  })
  expect((await copy(['export'])).out).toBe((await call(['export'])).out)

  const others = join(dir, 'others')
  await mkdir(join(others, '2026/02'), { recursive: true })
  await writeFile(join(others, '2026/02/2026-02-03-decision-1a2b3c4d.yaml'), foreign)
  await writeFile(join(others, 'broken.yaml'), 'a: [')
  await writeFile(join(others, 'loop.yaml'), '&a [*a]')
  await cp(join(out, 'decisions'), join(others, 'ours'), { recursive: true })
  const taken = await copy(['import', 'cstp-yaml', others])
  expect(taken).toMatchObject({ status: 1, json: { imported: 1, existing: 26, reviewed: 1, skipped: 2 } })
  expect(taken.json.problems.map((problem: { file: string }) => problem.file)).toEqual(['broken.yaml', 'loop.yaml'])
  const record = (await copy(['call', 'getDecision', '{"id":"2026-02-03-decision-1a2b3c4d"}'])).json
  expect(record).toMatchObject({
    decision: 'Use two regions',
    confidence: 0.8,
    created_at: '2026-02-03T04:05:06.000Z',
    review_in: '30d',
    context: 'One was lost.\n\nCommit: abc1234',
    project: { name: 'acme/shop', feature: null, pr: 7, files: ['regions.ts'] },
    reasoning_trace: [{ step: 1, thought: 'Count regions' }],
    deliberation: { inputs: [{ type: 'incident', content: 'The outage' }] },
    recorded_by: 'ada',
    outcome: 'success',
    actual_result: 'It held.',
  })
})

test('the decisions of the demo come in once, with outcomes and links', () =>
  inTemporaryDir(async (dir) => {
    const take = local(dir)
    expect((await take(['import', 'demo'])).json).toMatchObject({ imported: 26, reviewed: 24, linked: 14, skipped: 0 })
    expect((await take(['import', 'demo'])).json).toMatchObject({ imported: 0, existing: 26 })
  }))
