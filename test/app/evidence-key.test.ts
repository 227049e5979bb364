/** The key of an evidence log: a lost or exchanged one stops the start, and a new one is taken by request only, on record. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../src/app/config/config.ts'
import { adoptKey } from '../../src/app/evidence.ts'
import { event, log, settingsOf, withProgram } from '../support/opened.ts'
import { freshDatabase, postgres, whyNoPostgres } from '../support/postgres.ts'
import { bareEnv, cstp, inTemporaryDir, testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

/** Opens the program, adds an event, and returns the origin of a checkpoint. */
const signed = (settings: Settings) =>
  withProgram(settings, async ({ services: { chain, checkpoints } }) => {
    await chain.append([event])
    return (await checkpoints.latest()).origin
  })

const starts = (settings: Settings): Promise<string> =>
  withProgram(settings, async () => 'it starts').catch((error: Error) => error.message)

/** What the audit trail keeps of new keys, the last one first. */
const changes = (settings: Settings) =>
  withProgram(settings, async ({ services: { store } }) =>
    (await store.audit.list({ limit: 10 }))
      .filter(({ method }) => method === 'evidence.new-key')
      .map(({ detail }) => detail),
  )

test('a log without its key stops the start; a new key is made by request, and the trail says so', async () => {
  const dir = await testDir()
  const settings = await settingsOf(dir)
  const before = await signed(settings)
  await rm(join(dir, 'keys/evidence.pem'))
  const refused = await starts(settings)
  expect(refused).toContain(`the evidence log has 1 records, but its key ${join(dir, 'keys/evidence.pem')} is missing`)
  expect(refused).toContain('cstp evidence new-key')
  expect((await readdir(join(dir, 'keys'))).filter((name) => name.endsWith('.pem'))).toEqual([])
  const { status, out } = await cstp(['evidence', 'new-key', '--json'], bareEnv(dir, { CSTP_EMBEDDER: 'hash' }))
  expect(status).toBe(0)
  const { origin, former_origin, verifier_key } = JSON.parse(out)
  expect([former_origin, origin === before, verifier_key.split('+')[0]]).toEqual([before, false, origin])
  expect(await changes(settings)).toEqual([{ before, after: origin, records: 1 }])
  expect(await signed(settings)).toBe(origin)
})

test('records that were never signed bind the key too', async () => {
  const dir = await testDir()
  const settings = await settingsOf(dir)
  await withProgram(settings, ({ services: { chain } }) => chain.append([event]))
  await rm(join(dir, 'keys'), { recursive: true })
  expect(await starts(settings)).toContain('is missing')
  expect((await adoptKey(settings, log)).before).toEqual({ records: 1, origin: null })
  expect(await starts(settings)).toBe('it starts')
})

test('an empty log takes any key', async () => {
  const dir = await testDir()
  const settings = await settingsOf(dir)
  expect(await starts(settings)).toBe('it starts')
  await rm(join(dir, 'keys'), { recursive: true })
  expect(await starts(settings)).toBe('it starts')
})

/** A log and two keys that settings name. */
async function exchanged(dir: string, env: Record<string, string>): Promise<void> {
  const withKey = async (name: string) => {
    const path = join(dir, name)
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    await writeFile(path, pem, { mode: 0o600 })
    return settingsOf(dir, { ...env, CSTP_EVIDENCE_KEY: path })
  }
  const [one, two] = [await withKey('one.pem'), await withKey('two.pem')]
  const first = await signed(one)
  expect(await starts(two)).toContain(`the evidence log was signed by ${first}, but the evidence key is that of cstp/`)
  const { signer } = await adoptKey(two, log)
  expect(await starts(one)).toContain(`the evidence log was signed by ${signer.name}`)
  expect(await signed(two)).toBe(signer.name)
  expect(await changes(two)).toEqual([{ before: first, after: signer.name, records: 1 }])
}

test('another key than the one that signed stops the start: in a file', () =>
  inTemporaryDir((dir) => exchanged(dir, {})))

const server = postgres()
const title = 'another key than the one that signed stops the start: in PostgreSQL'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, () =>
    inTemporaryDir(async (dir) =>
      exchanged(dir, { CSTP_STORE_URL: await freshDatabase(server), CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test' }),
    ),
  )
