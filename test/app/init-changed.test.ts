/** What the start of a session says of the files of `cstp init`, which a repository may have changed. */
import { afterEach, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { apply } from '../../src/app/init/apply.ts'
import { changedSince } from '../../src/app/init/changed.ts'
import { editsOf } from '../../src/app/init/clients.ts'
import type { InitClient, Wiring } from '../../src/app/init/wiring.ts'
import { sha256Hex } from '../../src/core/digest.ts'

const folders: string[] = []
afterEach(async () => {
  for (const one of folders.splice(0)) await rm(one, { recursive: true, force: true })
})

/** A folder that was connected. @param before its files before that */
async function connected(client: InitClient, given: Partial<Wiring> = {}, before: Record<string, string> = {}) {
  const [data_dir, dir] = [await mkdtemp(join(tmpdir(), 'cstp-data-')), await mkdtemp(join(tmpdir(), 'cstp-dir-'))]
  folders.push(data_dir, dir)
  const wiring: Wiring = {
    ...{ shared: false, required: false, mode: 'guard', url: null, data_dir, gateway: false, http: false },
    ...{ program: [process.execPath], runtime: process.execPath, windows: false },
    ...given,
  }
  for (const [path, text] of Object.entries(before)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  const made = { dir, wirings: { [client]: wiring }, at: '2026-01-01T00:00:00Z' }
  await apply(data_dir, made, editsOf([client], wiring, dir))
  return { data_dir, dir, said: () => changedSince(data_dir, dir) }
}

/** Puts a link in place of a file. */
async function replaceByLink(path: string, secret: string) {
  await writeFile(`${path}.secret`, secret)
  await rm(path)
  await symlink(`${path}.secret`, path)
}

test('a link to a file with secrets in place of the settings repeats no word of it', async () => {
  const claude = await connected('claude-code')
  await replaceByLink(join(claude.dir, '.claude/settings.local.json'), 'e5f0c2d4a6b8')
  const codex = await connected('codex')
  await replaceByLink(join(codex.dir, '.codex/config.toml'), '[default]\nkey = AKIA0000EXAMPLE\n')
  const said = [await claude.said(), await codex.said()]
  expect(said).toEqual([expect.stringContaining('is not valid JSON'), expect.stringContaining('is not valid TOML')])
  expect(said.join()).not.toMatch(/e5f0c2d4a6b8|AKIA0000/)
})

test('the way out of a server beside the gateway keeps the gateway', async () => {
  const server = (name: string) => JSON.stringify({ mcpServers: { [name]: { command: 'x' } } })
  const { dir, said } = await connected('claude-code', { gateway: true }, { '.mcp.json': server('tools') })
  expect(await said()).toBeNull()
  const path = join(dir, '.mcp.json')
  const { mcpServers } = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ mcpServers: { ...mcpServers, other: { command: 'y' } } }))
  expect(await said()).toMatch(/fixes it with: .* --gateway/)
})

test('of a file that is too large to compare, init is not named as the way out', async () => {
  const { dir, said } = await connected('claude-code')
  await writeFile(join(dir, '.claude/settings.json'), JSON.stringify({ x: 'x'.repeat(300_000) }))
  expect(await said()).toMatch(/settings\\?\.json is larger than 256 KiB and was not compared.*with: make it smaller/)
})

test('hooks that an earlier version wrote are as they were written', async () => {
  const { data_dir, dir, said } = await connected('claude-code')
  const path = join(dir, '.claude/settings.local.json')
  const { hooks, ...rest } = JSON.parse(await readFile(path, 'utf8'))
  const { SessionEnd: _, ...fewer } = hooks
  const text = JSON.stringify({ ...rest, hooks: fewer })
  await writeFile(path, text)
  expect(await said()).toMatch(/hooks were removed or changed/)
  const manifest = join(data_dir, 'init', `${sha256Hex(dir).slice(0, 16)}.json`)
  const known = JSON.parse(await readFile(manifest, 'utf8'))
  for (const one of known.files) if (one.path === path) one.written = sha256Hex(text)
  await writeFile(`${manifest}.new`, JSON.stringify(known))
  await rename(`${manifest}.new`, manifest)
  expect(await said()).toBeNull()
})

test('a line of blanks in the settings of Codex is read to its end', async () => {
  const { dir, said } = await connected('codex', {}, { '.codex/config.toml': '[features]\nhooks = true\n' })
  expect(await said()).toBeNull()
  const path = join(dir, '.codex/config.toml')
  await writeFile(path, `${' '.repeat(250_000)}\n${await readFile(path, 'utf8')}`)
  expect(await said()).toBeNull()
})
