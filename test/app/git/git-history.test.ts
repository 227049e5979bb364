/** What the history of a repository decided: which commits are decisions, what took them back, and what replaced them. */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { choiceIn } from '../../../src/app/git/choices.ts'
import { countDecisions, outcomeOf, readHistory } from '../../../src/app/git/decisions.ts'
import type { GitDecision } from '../../../src/app/git/git-decision.ts'
import { inTemporaryDir } from '../../support/process.ts'
import { makeRepository, type Repository } from '../../support/repository.ts'

const inRepository = (work: (repository: Repository) => Promise<void>, from_days?: number) =>
  inTemporaryDir(async (dir) => work(await makeRepository(join(dir, 'repo'), from_days)))
const titles = async ({ folder }: Repository) => (await readHistory(folder)).decisions.map(({ title }) => title)
const outcomes = (decisions: GitDecision[]) =>
  Object.fromEntries(decisions.map((one) => [one.title, outcomeOf(one, Date.now())?.outcome ?? null]))

describe('decisions of a history', () => {
  test('are commits that decide something, the newest first', () =>
    inRepository(async (repository) => {
      const { commit, folder } = repository
      await commit('Initial commit')
      await commit('Use SQLite instead of LevelDB')
      await commit('fix: the button is blue again')
      await commit('feat(api)!: answers are lists (#7)')
      await commit('docs: use curl instead of wget')
      const { decisions, read, limited } = await readHistory(folder)
      expect({ read, limited }).toEqual({ read: 5, limited: false })
      expect(decisions).toMatchObject([
        { kind: 'breaking', title: 'answers are lists', scope: 'api', type: 'feat', pr: 7 },
        {
          kind: 'choice',
          title: 'Use SQLite instead of LevelDB',
          commit: { author: 'ada', changes: [{ path: 'file-2' }] },
        },
      ])
      expect(await countDecisions(folder)).toEqual({ decisions: 2, more: false })
    }))

  test('are bounded by number and by time', () =>
    inRepository(async ({ commit, folder }) => {
      for (const name of ['alpha', 'beta', 'gamma', 'delta']) await commit(`Drop support for ${name}`)
      const { decisions, limited } = await readHistory(folder, { limit: 2 })
      expect(decisions.map(({ title }) => title)).toEqual(['Drop support for delta', 'Drop support for gamma'])
      expect(limited).toBe(true)
      const since = new Date(Date.now() - 397.5 * 86_400_000).toISOString()
      expect((await readHistory(folder, { since })).decisions).toHaveLength(2)
    }))

  test('are of a merged pull request once, by its title; what its commits revert is found too', () =>
    inRepository(async (repository) => {
      const { commit, git } = repository
      await commit('Initial commit')
      await git('checkout', '-q', '-b', 'topic')
      await commit('Switch to Postgres, first part')
      await commit('Replace the pool with another')
      await git('checkout', '-q', 'main')
      await git(
        'merge',
        '-q',
        '--no-ff',
        'topic',
        '-m',
        'Merge pull request #12 from ada/topic\n\nSwitch to Postgres\n\nRows are locked.',
      )
      await git('checkout', '-q', '-b', 'other')
      await commit('Replace the queue with a table')
      await git('checkout', '-q', 'main')
      await git('merge', '-q', '--no-ff', 'other', '-m', 'Merge pull request #13 from ada/other\n\nFix the nightly job')
      const { decisions } = await readHistory(repository.folder)
      expect(decisions).toMatchObject([
        { title: 'Replace the queue with a table', pr: null },
        { title: 'Switch to Postgres', body: 'Rows are locked.', pr: 12 },
      ])
      // They count from the day of the merge.
      expect(decisions[0]!.landed_ms).toBeGreaterThan(decisions[0]!.commit.commit_ms)
    }))

  test('are one for the same title of one author, commit by commit', () =>
    inRepository(async (repository) => {
      await repository.commit('refactor(menu): use signals instead of inputs')
      await repository.commit('refactor(tabs): use signals instead of inputs')
      await repository.commit('refactor(list): use signals instead of inputs', undefined, { author: 'bob' })
      expect(await titles(repository)).toHaveLength(2)
    }))

  test('are added and removed dependencies, by manifest', () =>
    inRepository(async (repository) => {
      const manifest = (...names: string[]) => ({
        'package.json': JSON.stringify({
          version: '1.0.0',
          dependencies: Object.fromEntries(names.map((one) => [one, '^1'])),
        }),
      })
      await repository.commit('start', manifest('left'))
      await repository.commit('Validate input', manifest('left', 'zod'))
      await repository.commit('fix a bug', manifest('zod'))
      await repository.commit('chore: release 1.1.0', {
        'package.json': JSON.stringify({ version: '1.1.0', dependencies: { zod: '^2' } }),
      })
      const toml = (rest: string) => ({ 'pyproject.toml': `[project]\nname = "x"\ndependencies = [\n${rest}]\n` })
      await repository.commit('more', toml('  "requests>=2",\n'))
      await repository.commit('Ask over http', toml(`  "requests>=2",\n  'HTTPX~=0.27; python_version >= "3.9"',\n`))
      expect(await titles(repository)).toEqual(['Add httpx (Ask over http)', 'Remove left', 'Add zod (Validate input)'])
    }))
})

describe('outcomes of a history', () => {
  const reverting = async (repository: Repository, sha: string, message: string) => {
    await repository.git('revert', '--no-edit', sha)
    await repository.git('commit', '-q', '--amend', '-m', message)
  }

  test.each([
    ['by hash', (sha: string) => `Revert "Use Redis for sessions"\n\nThis reverts commit ${sha}.\n\nIt lost sessions.`],
    ['by title', () => 'Revert "Use Redis for sessions"'],
    ['by number', () => 'Revert: sessions in memory (#9)\n\nReverts acme/shop#8'],
    ['by change alone', () => 'Sessions are in memory again'],
    ['in other words', (sha: string) => `fix: sessions were lost\n\nThis reverts commit ${sha}.`],
  ])('a reverted decision failed: %s', (_, message) =>
    inRepository(async (repository) => {
      await repository.commit('start', { 'a.txt': '1\n' })
      const sha = await repository.commit('build: use Redis for sessions (#8)', { 'a.txt': '2\n' })
      await repository.git('commit', '-q', '--amend', '-m', 'Use Redis for sessions (#8)\n\nBREAKING CHANGE: they move')
      const amended = await repository.git('rev-parse', 'HEAD')
      expect(amended).not.toBe(sha)
      await reverting(repository, 'HEAD', message(amended))
      const { decisions } = await readHistory(repository.folder)
      const [revert, reverted] = decisions
      expect(decisions).toHaveLength(2)
      expect(reverted).toMatchObject({ title: 'Use Redis for sessions', revertedBy: revert })
      expect(outcomeOf(reverted!, Date.now())).toMatchObject({ outcome: 'failure' })
      expect(revert!.kind).toBe('revert')
      expect([...revert!.supersedes.keys()]).toEqual([amended])
    }),
  )

  test('what was reverted is kept even if it decided nothing by itself, unless it was only a release or a document', () =>
    inRepository(async (repository) => {
      const sha = await repository.commit('Sessions are signed')
      await reverting(repository, sha, `Revert "Sessions are signed"\n\nThis reverts commit ${sha}.`)
      const other = await repository.commit('docs: a new page')
      await reverting(repository, other, `Revert "docs: a new page"\n\nThis reverts commit ${other}.`)
      expect(outcomes((await readHistory(repository.folder)).decisions)).toEqual({
        'Revert "docs: a new page"': 'success',
        'Revert "Sessions are signed"': 'success',
        'Sessions are signed': 'failure',
      })
    }))

  test('a revert that was reverted failed, and what it took back did not', () =>
    inRepository(async (repository) => {
      await repository.commit('start', { 'a.txt': '1\n' })
      const sha = await repository.commit('Switch to Postgres', { 'a.txt': '2\n' })
      await reverting(repository, sha, `Revert "Switch to Postgres"\n\nThis reverts commit ${sha}.`)
      const revert = await repository.git('rev-parse', 'HEAD')
      await reverting(repository, revert, `Reapply "Switch to Postgres"\n\nThis reverts commit ${revert}.`)
      expect(outcomes((await readHistory(repository.folder)).decisions)).toEqual({
        'Reapply "Switch to Postgres"': 'success',
        'Revert "Switch to Postgres"': 'failure',
        'Switch to Postgres': 'success',
      })
    }))

  test('a decision is a success after 90 days, and open before', () =>
    inRepository(async (repository) => {
      await repository.commit('Drop Node 16', undefined, { ago_days: 91 })
      await repository.commit('Drop Node 18', undefined, { ago_days: 89 })
      expect(outcomes((await readHistory(repository.folder)).decisions)).toEqual({
        'Drop Node 18': null,
        'Drop Node 16': 'success',
      })
    }))

  test('a list of commits in a body takes nothing back', () =>
    inRepository(async (repository) => {
      const sha = await repository.commit('Switch to Postgres')
      await repository.commit(`Drop Node 16\n\n* a part\n\nThis reverts commit ${sha}.\n\n* another`)
      expect(outcomes((await readHistory(repository.folder)).decisions)).toEqual({
        'Drop Node 16': 'success',
        'Switch to Postgres': 'success',
      })
    }))
})

describe('a later decision supersedes an earlier one', () => {
  const superseded = async (repository: Repository) => {
    const { decisions } = await readHistory(repository.folder)
    const bySha = new Map(decisions.map((one) => [one.commit.sha, one.title]))
    return decisions.flatMap(({ title, supersedes }) =>
      [...supersedes.keys()].map((sha) => `${title} > ${bySha.get(sha)}`),
    )
  }

  test('if it gives up what the earlier one chose', () =>
    inRepository(async (repository) => {
      await repository.commit('Use moment instead of Date')
      await repository.commit('Replace moment with date-fns')
      await repository.commit('Use luxon instead of dayjs')
      expect(await superseded(repository)).toEqual(['Replace moment with date-fns > Use moment instead of Date'])
    }))

  test('if it removes what the earlier one added', () =>
    inRepository(async (repository) => {
      const manifest = (names: string[]) => ({
        'go.mod': `module x\n\nrequire (\n${names.map((one) => `\tgithub.com/${one} v1.0.0\n`).join('')})\n`,
      })
      await repository.commit('start', manifest(['a/b']))
      await repository.commit('Log as JSON', manifest(['a/b', 'rs/zerolog']))
      await repository.commit('Log with the standard library', { ...manifest(['a/b']), 'log.go': 'x' })
      expect(await superseded(repository)).toEqual([
        'Remove github.com/rs/zerolog (Log with the standard library) > Add github.com/rs/zerolog (Log as JSON)',
      ])
    }))

  test.each([
    ['Use undici instead of node-fetch', 'undici', 'node-fetch'],
    ['Replace `optparse` with `argparse`', 'argparse', 'optparse'],
    ['switch from LevelDB to SQLite for sessions', 'sqlite', 'leveldb'],
    ['Drop yarn in favor of pnpm', 'pnpm', 'yarn'],
    ['Adopt Biome', 'biome', null],
    ['pin sphinx below 8', 'pin sphinx', 'pin sphinx'],
    ['use it instead of that', null, null],
    ['Fix the build', null, null],
  ])('%s', (title, chosen, dropped) => {
    expect(choiceIn(title)).toEqual({ chosen, dropped })
  })
})

test('a folder without a repository, or without a commit, is an error that says so', () =>
  inTemporaryDir(async (dir) => {
    await expect(readHistory(dir)).rejects.toThrow(`${dir} is not a git repository with a commit`)
    const { folder } = await makeRepository(join(dir, 'empty'))
    await expect(readHistory(folder)).rejects.toThrow('is not a git repository with a commit')
    expect(await countDecisions(folder)).toBeNull()
  }))
