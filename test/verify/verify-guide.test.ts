/** The commands of the guide to evidence, run unchanged. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleOf } from '../support/evidence/bundles.ts'
import { witness } from '../support/evidence/note-signers.ts'
import { cstp, cstpCommand, root } from '../support/process.ts'
import { cases, events, exampleControls, rules as exampleRules, log } from './damage.ts'

const guide = await readFile(join(root, 'docs/guide/evidence.md'), 'utf8')
const commands = (kind: 'hold' | 'fail') =>
  [...guide.matchAll(/^```sh (.+)\n([\s\S]*?)^```$/gm)].flatMap(([, info, block]) =>
    info!.endsWith(`by a test of its own, in which these ${kind}`) ? block!.trim().split('\n') : [],
  )
const own = witness()
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cstp-verify-'))
  const made = { controls: exampleControls }
  const evidence = await bundleOf(events, made)
  const bytesOf = (name: string) => cases.find((one) => one.name === name)!.bytes
  const files = {
    'evidence.json': evidence,
    'older.json': await bundleOf(events.slice(0, 3), made),
    'latest.note': own.cosign(JSON.parse(evidence).checkpoint.note, 1_790_000_000),
    'changed.json': bytesOf('payload'),
    'forged.json': bytesOf('rewritten-own-key'),
    'evidence.pub': `${log.verifier_key}\n`,
    'witness.key': own.verifier_key,
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a command line where there is nothing but the files: no data directory, no settings. */
async function run(line: string) {
  const [name, ...args] = line.split(' ')
  expect(name).toBe('cstp')
  return cstp(args, { PATH: process.env.PATH ?? '', HOME: '/nonexistent' }, undefined, {
    command: cstpCommand,
    cwd: folder,
  })
}

test('the guide has commands', () => {
  expect([commands('hold').length, commands('fail').length]).toEqual([5, 3])
})

describe('what holds', () => {
  test.each(commands('hold'))('%s', async (line) => {
    const { out, err, status } = await run(line)
    expect([status, err]).toEqual([0, ''])
    if (line.includes('--json')) expect(JSON.parse(out)).toMatchObject({ verified: true, bundle: { events: 5 } })
    else expect(out).toContain('evidence.json is valid: nothing is wrong with it.')
  })
})

test('rules that are not published are not proved, unless their file is given', async () => {
  await writeFile(join(folder, 'example.yaml'), exampleRules)
  expect((await run('cstp verify evidence.json')).out).toMatch(/\? The rules are published ones[^✓]*not proved/)
  expect((await run('cstp verify evidence.json --rules example.yaml')).out).toContain('✓ The rules are published ones')
})

describe('what does not', () => {
  test.each(commands('fail'))('%s', async (line) => {
    const { out, status } = await run(line)
    expect(status).toBe(1)
    expect(out).toContain('is NOT valid')
    expect(out).toContain('do not rely on anything in this bundle')
  })
})

describe('what is misunderstood', () => {
  test.each([
    ['cstp verify', 'missing argument'],
    ['cstp verify nothing.json', "can't read nothing.json: no such file or directory"],
    ['cstp verify .', 'who may have signed?'],
    ['cstp verify evidence.json --key nonsense', '--key: expected a key'],
    ['cstp verify evidence.json --key witness.key', 'is the key of a witness'],
    ['cstp verify evidence.json --witness evidence.pub', 'is the key of a log'],
    ['cstp verify evidence.json --rules missing.yaml', 'is not a file of control rules'],
    ['cstp verify evidence.json --rules evidence.json', '--rules: '],
    ['cstp verify evidence.json --against missing.json', "can't read missing.json"],
  ])('%s', async (line, said) => {
    const { err, status } = await run(line)
    expect(status).toBe(2)
    expect(err).toContain(said)
  })
})

test('a bundle that carries control characters does not drive the terminal', async () => {
  const { good } = await import('./damage.ts')
  await writeFile(
    join(folder, 'evil.json'),
    good.replace('"service_version":"0.0.0"', '"service_version":"\\u001b[2J"'),
  )
  const { out } = await run('cstp verify evil.json')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(out).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/)
})
