/** Keys in files: made once, private, and never repeated in an error. */
import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownKey, readKey } from '../../src/core/key-file.ts'
import { fingerprint } from '../../src/domain/ledger/engine/note.ts'
import { testDir } from '../support/process.ts'

const pemOf = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  key.export({ type: 'pkcs8', format: 'pem' }) as string

test('a key is made where there is none, for its owner alone, and read from then on', async () => {
  const dir = await testDir()
  const path = join(dir, 'keys', 'own.pem')
  const made = await ownKey(path, 'the key')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(dir, 'keys'))).mode & 0o777).toBe(0o700)
  expect(fingerprint(await ownKey(path, 'the key'))).toBe(fingerprint(made))
  expect(await readdir(join(dir, 'keys'))).toEqual(['own.pem'])
})

test('of many that start at once all have the same key', async () => {
  const dir = await testDir()
  const path = join(dir, 'keys', 'own.pem')
  const keys = await Promise.all(Array.from({ length: 20 }, () => ownKey(path, 'the key')))
  expect(new Set(keys.map(fingerprint)).size).toBe(1)
  expect(await readdir(join(dir, 'keys'))).toEqual(['own.pem'])
})

test('a file that holds no such key is refused by name, and what it holds is not shown', async () => {
  const dir = await testDir()
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const secret = pemOf(ed25519).split('\n')[1]!
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  const cases: [string, string | Buffer][] = [
    ['expected an Ed25519 private key', ''],
    ['expected an Ed25519 private key', `not a key ${secret}`],
    ['expected an Ed25519 private key', pemOf(ed25519).slice(0, 70)],
    ['expected an Ed25519 private key', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)],
    ['expected an Ed25519 private key', pemOf(generateKeyPairSync('x25519').privateKey)],
    [
      'expected an Ed25519 private key',
      generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string,
    ],
    ['encrypted', ed25519.export(encrypted) as string],
    ['expected an Ed25519 private key', Buffer.from([0xff, 0xfe, 0])],
  ]
  for (const [why, content] of cases) {
    const path = join(dir, 'wrong.pem')
    await writeFile(path, content)
    const error: Error = await readKey(path, 'CSTP_EVIDENCE_KEY').then(
      () => new Error('it was taken'),
      (thrown) => thrown,
    )
    expect(error.message).toContain('CSTP_EVIDENCE_KEY')
    expect(error.message).toContain(path)
    expect(error.message).toContain(why)
    expect(Bun.inspect(error)).not.toContain(secret)
  }
  await mkdir(join(dir, 'folder'))
  await expect(readKey(join(dir, 'folder'), 'CSTP_EVIDENCE_KEY')).rejects.toThrow(
    /CSTP_EVIDENCE_KEY.*: illegal operation on a directory$/,
  )
  await expect(readKey(join(dir, 'absent'), 'CSTP_EVIDENCE_KEY')).rejects.toThrow(
    /CSTP_EVIDENCE_KEY.*: no such file or directory$/,
  )
  expect(await readFile(join(dir, 'wrong.pem'))).toEqual(Buffer.from([0xff, 0xfe, 0]))
})
