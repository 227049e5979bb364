/** cstp import git: the decisions of a repository come in once, with authors, days, outcomes and links; later runs add what is new. */
import { expect } from 'bun:test'
import { join } from 'node:path'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, cstp, inTemporaryDir } from '../support/process.ts'
import { makeRepository } from '../support/repository.ts'

const local = (dir: string) => async (args: string[]) => {
  const ended = await cstp([...args, '--local', '--json'], bareEnv(dir))
  return { ...ended, json: JSON.parse(ended.out || 'null') }
}

testNeeding('git', 'a history is imported once; later runs add new decisions and outcomes that became known', () =>
  inTemporaryDir(async (dir) => {
    const { commit, git, folder } = await makeRepository(join(dir, 'repo'))
    await git('remote', 'add', 'origin', 'git@example.com:acme/shop.git')
    await commit('Initial commit')
    const first = await commit(
      'Use moment instead of Date\n\nBecause parsing is hard.\n\nSigned-off-by: Ada <a@example.com>',
    )
    await commit('fix: the button is blue again')
    await commit('refactor(store): keep rows in one table (#7)', undefined, { author: 'bob', ago_days: 30 })
    const call = local(join(dir, 'data'))
    const dry = await call(['import', 'git', folder, '--dry-run'])
    expect(dry.json).toMatchObject({ imported: 2, reviewed: 1, dry_run: true })
    expect(dry.json.preview).toMatchObject([
      { kind: 'design', decision: 'store: keep rows in one table', outcome: null },
      { kind: 'choice', decision: 'Use moment instead of Date', outcome: 'success', sha: first },
    ])
    expect(await call(['import', 'git', folder])).toMatchObject({
      status: 0,
      json: { imported: 2, reviewed: 1, skipped: 0 },
    })
    expect((await call(['import', 'git', folder])).json).toMatchObject({
      imported: 0,
      existing: 2,
      reviewed: 0,
      linked: 0,
    })
    const list = async () =>
      (await call(['call', 'listDecisions', '{"sort":"created_at","order":"asc"}'])).json.decisions
    expect(await list()).toMatchObject([
      {
        decision: 'Use moment instead of Date',
        recorded_by: 'ada',
        source: 'git',
        source_key: `git:${first}`,
        confidence: null,
        category: null,
        outcome: 'success',
        attribution_basis: 'evidence',
        project: { name: 'acme/shop', files: ['file-2'] },
        tags: ['choice'],
      },
      {
        decision: 'store: keep rows in one table',
        recorded_by: 'bob',
        outcome: null,
        project: { name: 'acme/shop', pr: 7, feature: 'store' },
        tags: ['design', 'refactor'],
      },
    ])
    const [{ id, context }] = await list()
    expect(context).toBe(`Because parsing is hard.\n\nCommit ${first.slice(0, 10)} of acme/shop.`)

    await git('revert', '--no-edit', first)
    await git(
      'commit',
      '-q',
      '--amend',
      '-m',
      `Revert "Use moment instead of Date"\n\nThis reverts commit ${first}.\n\nIt is too slow.`,
    )
    expect((await call(['import', 'git', folder])).json).toMatchObject({
      imported: 1,
      existing: 2,
      reviewed: 1,
      linked: 1,
    })
    expect((await call(['import', 'git', folder])).json).toMatchObject({
      imported: 0,
      existing: 3,
      reviewed: 0,
      linked: 0,
    })
    expect((await list())[0]).toMatchObject({
      outcome: 'failure',
      lessons: 'It is too slow.',
      actual_result: expect.stringMatching(
        /^Reverted after \d+ days by [0-9a-f]{10}: Revert "Use moment instead of Date"$/,
      ),
    })
    const all = await list()
    expect(all.at(-1).links).toMatchObject([{ target_id: id, edge_type: 'supersedes', effective: true }])
    const scored = (await call(['call', 'getCalibration', '{}'])).json
    expect(scored.overall.scored).toBe(0)

    // A copy says of the outcomes where they are from.
    const lines = (await cstp(['export', '--local'], bareEnv(join(dir, 'data')))).out
    const copy = await cstp(['import', '-', '--local', '--json'], bareEnv(join(dir, 'copy')), lines)
    expect(JSON.parse(copy.out)).toMatchObject({ imported: 3, reviewed: 1, skipped: 0, linked: 1 })
    const copied = (await local(join(dir, 'copy'))(['call', 'getDecision', JSON.stringify({ id: `git:${first}` })]))
      .json
    expect(copied).toMatchObject({ source: 'git', attribution_basis: 'evidence', outcome: 'failure' })
  }),
)

testNeeding('git', 'bad options and folders are errors that name them', () =>
  inTemporaryDir(async (dir) => {
    const ended = async (...args: string[]) => cstp(['import', 'git', ...args, '--dry-run'], bareEnv(dir))
    expect(await ended(dir)).toMatchObject({
      status: 1,
      err: expect.stringContaining(`${dir} is not a git repository`),
    })
    expect(await ended(dir, '--limit', '0')).toMatchObject({
      status: 2,
      err: expect.stringContaining('--limit needs a whole number'),
    })
    expect(await ended(dir, '--since', 'yesterday')).toMatchObject({
      status: 2,
      err: expect.stringContaining('--since: expected a day'),
    })
  }),
)
