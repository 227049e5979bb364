/** What cstp init offers at its end: the decisions of the repository's own history, of its records and of beads. */
import { expect, test } from 'bun:test'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { launcher } from '../../src/app/init/wiring.ts'
import { commandLine, ownCommand } from '../../src/app/service-file.ts'
import { offerLine, offersOf } from '../../src/cli/init-offer.ts'
import { bareEnv, cstpCommand, freePort, inTemporaryDir, testService } from '../support/process.ts'

const git = (dir: string, ...args: string[]) => {
  const { exitCode, stderr } = Bun.spawnSync(
    ['git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args],
    { cwd: dir, stderr: 'pipe' },
  )
  expect([exitCode, exitCode === 0 ? '' : stderr.toString()]).toEqual([0, ''])
}
const linesOf = async (dir: string) => (await offersOf(dir, '/data')).map(offerLine)
const reverted = 'Revert "feat!: --use SQLite instead of PostgreSQL"\n\nIt was slower.'

test('the offers name how many decisions there are and the lines that import them; without any there is none', () =>
  inTemporaryDir(async (dir) => {
    expect(await linesOf(dir)).toEqual([])
    const repository = join(dir, 'my shop')
    const records = join(repository, 'docs/adr')
    const beads = join(repository, '.beads/issues.jsonl')
    await mkdir(repository)
    git(repository, 'init', '-q')
    expect(await linesOf(repository)).toEqual([])
    git(repository, 'commit', '-q', '--allow-empty', '-m', 'fix: a typo')
    expect(await linesOf(repository)).toEqual([])
    git(repository, 'commit', '-q', '--allow-empty', '-m', 'feat!: use SQLite instead of PostgreSQL')
    await mkdir(records, { recursive: true })
    await writeFile(join(records, 'README.md'), '# Records')
    await mkdir(join(repository, '.beads'))
    await writeFile(beads, '{"id":"b-1","issue_type":"task"}\n')
    const history = `Import 1 decision of its history, with what was reverted:  ${commandLine(['import', 'git', repository], '/data')}`
    expect(await linesOf(repository)).toEqual([history])
    await writeFile(join(records, '0001-bun.md'), '# Use Bun\n\n## Decision\n\nUse Bun.\n')
    await writeFile(beads, '{"id":"b-1","issue_type":"task"}\n{"id":"b-2","issue_type":"decision"}\n')
    await mkdir(join(dir, 'private'))
    await writeFile(join(dir, 'private/mine.md'), '# Mine')
    await symlink(join(dir, 'private'), join(repository, 'decisions'))
    expect(await linesOf(repository)).toEqual([
      history,
      `Import 1 decision record in docs/adr:  ${commandLine(['import', 'adr', records], '/data')}`,
      `Import 1 decision of beads:  ${commandLine(['import', 'beads', beads], '/data')}`,
    ])
  }))

test('with a yes in a terminal everything is imported, and the memory answers a first question, whatever its words', () =>
  inTemporaryDir(async (dir) => {
    const repository = join(dir, 'shop')
    await mkdir(join(repository, 'docs/adr'), { recursive: true })
    await writeFile(join(repository, 'docs/adr/0001-bun.md'), '# Use Bun\n\n## Decision\n\nUse Bun.\n')
    git(repository, 'init', '-q')
    git(repository, 'commit', '-q', '--allow-empty', '-m', 'feat!: --use SQLite instead of PostgreSQL')
    git(repository, 'commit', '-q', '--allow-empty', '-m', reverted)
    const env = bareEnv(join(dir, 'data'), { HOME: dir })
    await testService(env, ['--port', String(await freePort())])
    let [shown, isAsked] = ['', false]
    const child = Bun.spawn([...cstpCommand, 'init', '--client', 'codex', '--dir', repository], {
      env: { ...env, TERM: 'xterm' },
      terminal: {
        cols: 160,
        data(terminal, data) {
          shown += data.toString()
          if (!shown.includes('[y/N] ') || isAsked) return
          isAsked = true
          terminal.write('y\r')
        },
      },
    })
    expect([await child.exited, shown]).toEqual([0, expect.stringContaining('1 decision record in docs/adr. Import')])
    expect(shown.match(/\d+ imported/g)).toEqual(['2 imported', '1 imported'])
    const [, answer] = shown.split("query 'use SQLite instead of PostgreSQL'")
    expect(answer).toMatch(/--use SQLite instead of PostgreSQL.*failure/)
  }))

test('a line names the launcher of its data folder, unless that runs a program that may be gone', () =>
  inTemporaryDir(async (data_dir) => {
    await mkdir(join(data_dir, 'bin'))
    const written = (program: string[]) => {
      const { path, text } = launcher({ program, data_dir, windows: false })!
      return writeFile(path, text).then(() => commandLine(['doctor'], data_dir))
    }
    expect(await written(['/opt/bun', '/gone/src/main.ts'])).toContain(`doctor --data-dir ${data_dir}`)
    expect(await written([...ownCommand()])).toBe(`${data_dir}/bin/cstp doctor`)
    await written(['/bin/sh', '-c', 'echo "$CSTP_DATA_DIR"'])
    const ran = Bun.spawnSync(['/bin/sh', `${data_dir}/bin/cstp`], { env: { CSTP_DATA_DIR: '/elsewhere' } })
    expect(String(ran.stdout)).toBe(`${data_dir}\n`)
  }))
