/** What cstp init offers at its end: the decisions of the repository's own history. */
import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { commandLine } from '../../src/app/service-file.ts'
import { offerLine, offerOf } from '../../src/cli/init-offer.ts'
import { inTemporaryDir } from '../support/process.ts'

const git = (dir: string, ...args: string[]) => {
  const { exitCode, stderr } = Bun.spawnSync(
    ['git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args],
    { cwd: dir, stderr: 'pipe' },
  )
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, ''])
}

test('the offer names how many decisions there are and the line that imports them; without any there is none', () =>
  inTemporaryDir(async (dir) => {
    const program = ['/opt/cstp']
    expect(await offerOf(dir, program, '/data')).toBeNull()
    const repository = join(dir, 'my shop')
    await mkdir(repository)
    git(repository, 'init', '-q')
    expect(await offerOf(repository, program, '/data')).toBeNull()
    git(repository, 'commit', '-q', '--allow-empty', '-m', 'fix: a typo')
    expect(await offerOf(repository, program, '/data')).toBeNull()
    git(repository, 'commit', '-q', '--allow-empty', '-m', 'feat!: use SQLite instead of PostgreSQL')
    const offer = (await offerOf(repository, program, '/data'))!
    expect(offerLine(offer)).toBe(
      `Import 1 decision of this repository, with what was reverted:  ${commandLine(['import', 'git', repository], '/data')}`,
    )
  }))
