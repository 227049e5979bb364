/** The changelog is made of changesets, keeps what was released, and a release needs one command. */
import { expect, test } from 'bun:test'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { changesets, isReleased, kindOf, released, section, sections, withEntry } from '../src/generate/changelog.ts'
import { testNeeding } from './support/needing.ts'
import { inTemporaryDir, root } from './support/process.ts'

test('a changeset becomes a section: its first sentence is the heading, links lead from the root', () => {
  expect(section('---\n"cstp-service": minor\n---\n\nOne\nthing. And why.\n\n- [x](../docs/x.md)\n')).toBe(
    '#### One thing\n\nAnd why.\n\n- [x](docs/x.md)',
  )
  expect(section('---\n---\n\nNo full stop')).toBe('#### No full stop')
})

test('an entry replaces the one that waited, and stands above what was released', () => {
  const first = withEntry('', '1.0.0', ['### a'])
  expect(released(first)).toBe('')
  const dated = withEntry(first, '1.0.0, 2026-01-02', ['### a', '### b'])
  expect(isReleased(dated, '1.0.0')).toBe(true)
  expect(isReleased(dated, '1.0')).toBe(false)
  const next = withEntry(withEntry(dated, 'Unreleased', ['### c']), 'Unreleased', ['### d'])
  expect(next.match(/^##+ .*$/gm)).toEqual(['## Unreleased', '### d', '## 1.0.0, 2026-01-02', '### a', '### b'])
  expect(withEntry(next, 'Unreleased', [])).toBe(dated)
})

test('a changeset is listed under its subject, or else under how it raises the version', () => {
  expect(kindOf('00-first.md', '')).toBeNull()
  expect(kindOf('21-scopes.md', '---\n"cstp-service": minor\n---\n')).toBe('Policy')
  expect(kindOf('brave-cats.md', '---\n"cstp-service": major\n---\n')).toBe('Breaking changes')
  expect(kindOf('brave-cats.md', '---\n"cstp-service": patch\n---\n')).toBe('Fixed')
})

test('every changeset that waits has a section of its own with something in it, each kind once', async () => {
  const text = (await sections()).join('\n\n')
  const headings = text.match(/^### .*$/gm) ?? []
  expect(new Set(headings).size).toBe(headings.length)
  const parts = text.split(/^(?=####? )/m).filter((part) => !/^### .*\n*$/.test(part))
  expect(parts.length).toBe((await changesets()).length)
  for (const part of parts) expect(part.trim().split('\n').length).toBeGreaterThan(2)
})

test('a first release tells of nothing that it changed', async () => {
  const texts = await Promise.all((await changesets()).map((path) => readFile(path, 'utf8')))
  if ((await released(await readFile(join(root, 'CHANGELOG.md'), 'utf8'))) === '')
    expect(texts.filter((text) => /\b(?:no longer|any more|used to)\b/.test(text))).toEqual([])
})

testNeeding('git', 'the first release keeps the version, the next one raises that of both packages', () =>
  inTemporaryDir(async (dir) => {
    for (const path of [
      '.changeset',
      'package.json',
      'bun.lock',
      'sdk/package.json',
      'src/generate',
      'src/core/version.ts',
    ]) {
      await mkdir(join(dir, dirname(path)), { recursive: true })
      await cp(join(root, path), join(dir, path), { recursive: true })
    }
    await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
    for (const path of await changesets()) await cp(path, join(dir, '.changeset', path.split('/').at(-1)!))
    const run = (...command: string[]) => {
      const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: dir, stdin: 'ignore' })
      expect([exitCode, exitCode === 0 ? '' : `${stdout}${stderr}`]).toEqual([0, ''])
    }
    const release = () => run(process.execPath, join(dir, 'src/generate/release.ts'))
    const versions = () =>
      Promise.all(
        ['package.json', 'sdk/package.json'].map(async (path) => (await Bun.file(join(dir, path)).json()).version),
      )
    const before = await versions()
    const add = (text: string) =>
      writeFile(join(dir, '.changeset/more.md'), `---\n"cstp-service": patch\n---\n\n${text}\n\n- And more.\n`)
    await writeFile(join(dir, 'CHANGELOG.md'), '')
    await add('First.')
    release()
    expect(await versions()).toEqual(before)
    expect((await readdir(join(dir, '.changeset'))).filter((name) => name.endsWith('.md'))).toEqual([])

    run('git', 'init', '-q')
    await add('Second.')
    release()
    const [version, client] = await versions()
    expect(version).not.toBe(before[0])
    expect(client).toBe(version)
    const text = await readFile(join(dir, 'CHANGELOG.md'), 'utf8')
    const headings = text.match(/^##+ .*$/gm)!
    expect(headings.slice(0, 3)).toEqual([expect.stringContaining(`## ${version}, `), '### Fixed', '#### Second'])
    expect(headings[3]).toMatch(`## ${before[0]}, `)
    expect((await readdir(join(dir, '.changeset'))).filter((name) => name.endsWith('.md'))).toEqual([])
  }),
)
