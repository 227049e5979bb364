/** Tokens in files: what is stored of them, when they are valid, and that a service that runs follows what other processes do. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createToken, endToken, followTokens, listTokens } from '../../src/app/tokens.ts'
import { createAuthenticator, parseTokens } from '../../src/core/caller.ts'
import { testDir, until } from '../support/process.ts'
import * as fc from '../support/property.ts'

const start = Date.parse('2026-03-01T12:00:00Z')
const given = { name: 'a program', agent: 'ada', scopes: null, expires_at: null }

/** A service that follows the tokens of a folder, on clocks that the test moves. */
function follow(data_dir: string, fixed = parseTokens('bob:token-of-bob-000001')) {
  const clock = { now: start, elapsed: 0 }
  const lines: string[] = []
  const agents = followTokens({
    data_dir,
    fixed,
    grants: { curate: ['ada'] },
    log: Object.assign((_: string, message: string) => void lines.push(message), { flush() {} }),
    now: () => clock.now,
    elapsed: () => clock.elapsed,
  })
  const authenticate = createAuthenticator(agents)
  const callers = (agent: string, token: string) => authenticate(`Bearer ${agent}:${token}`)
  const pass = (ms: number) => {
    clock.now += ms
    clock.elapsed += ms
  }
  return { clock, lines, callers, pass }
}

test('a file has the SHA-256 of its token and never the token, and is for its owner alone', async () => {
  const dir = await testDir()
  const { token, created } = await createToken(dir, given, start)
  const names = await readdir(join(dir, 'tokens'))
  expect(names).toEqual([`${created.id}.json`])
  const path = join(dir, 'tokens', names[0]!)
  const text = await readFile(path, 'utf8')
  expect(text).not.toContain(token.slice(5))
  expect(text).toContain(createHash('sha256').update(token).digest('hex'))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(dir, 'tokens'))).mode & 0o777).toBe(0o700)
})

test('a service that runs accepts a token that another process created, with the scopes that its agent is granted by name', async () => {
  const dir = await testDir()
  const service = follow(dir)
  expect(service.callers('bob', 'token-of-bob-000001')?.agent).toBe('bob')
  const { token } = await createToken(dir, given, start)
  service.pass(1_000)
  expect([...service.callers('ada', token)!.scopes]).toEqual(['read', 'write', 'curate'])
  expect(service.callers('bob', token)).toBeNull()
  expect(service.callers('ada', `${token}0`)).toBeNull()
})

test('a revoked token is refused a second later without a restart, and the others are not', async () => {
  const dir = await testDir()
  const [first, second] = [await createToken(dir, given, start), await createToken(dir, given, start)]
  const service = follow(dir)
  expect(service.callers('ada', first.token)?.agent).toBe('ada')
  await endToken(dir, first.created.id, start)
  service.pass(1_000)
  expect(service.callers('ada', first.token)).toBeNull()
  expect(service.callers('ada', second.token)?.agent).toBe('ada')
  // A clock that is set back revives nothing.
  service.clock.now = start + 1
  expect(service.callers('ada', first.token)).toBeNull()
})

test('a token is refused from the moment at which it expires, and its state says so', async () => {
  const dir = await testDir()
  const expires_at = new Date(start + 60_000).toISOString()
  const { token } = await createToken(dir, { ...given, expires_at }, start)
  const service = follow(dir)
  service.pass(59_999)
  expect(service.callers('ada', token)?.agent).toBe('ada')
  service.clock.now += 1
  expect(service.callers('ada', token)).toBeNull()
  expect(listTokens(dir, start + 59_999)[0]).toMatchObject({ state: 'active', ends_at: expires_at })
  expect(listTokens(dir, start + 60_000)[0]).toMatchObject({ state: 'expired', ends_at: expires_at })
})

test('a replaced token remains valid for the overlap, and never longer than it was', async () => {
  const dir = await testDir()
  const { token, created } = await createToken(dir, given, start)
  await endToken(dir, created.id, start + 10_000)
  await endToken(dir, created.id, start + 90_000)
  const service = follow(dir)
  service.pass(9_999)
  expect(service.callers('ada', token)?.agent).toBe('ada')
  service.pass(1)
  expect(service.callers('ada', token)).toBeNull()
  expect(listTokens(dir, start + 10_000)[0]).toMatchObject({ state: 'revoked' })
})

test('the last use is noted, to the minute, and a use that can not be noted refuses no call', async () => {
  const dir = await testDir()
  const { token } = await createToken(dir, given, start)
  const service = follow(dir)
  expect(listTokens(dir, start)[0]!.last_used_at).toBeNull()
  service.callers('ada', token)
  await until('the use is noted', async () => listTokens(dir, start)[0]!.last_used_at !== null)
  service.pass(60_000)
  service.callers('ada', token)
  const noted = new Date(start + 60_000).toISOString()
  await until('the later use is noted', async () => listTokens(dir, start)[0]!.last_used_at === noted)
})

test.each([
  ['not JSON', '{'],
  ['of a newer program', JSON.stringify({ format: 999 })],
  ['without a hash', JSON.stringify({ format: 1, agent: 'ada', scopes: null, expires_at: null })],
  [
    'with an unknown scope',
    JSON.stringify({ format: 1, agent: 'ada', scopes: ['all'], expires_at: null, token_sha256: '0'.repeat(64) }),
  ],
])('a file that is %s is refused and logged, and the other tokens stay valid', async (_, text) => {
  const dir = await testDir()
  const { token } = await createToken(dir, given, start)
  await writeFile(join(dir, 'tokens/00000000.json'), text)
  const service = follow(dir)
  expect(service.callers('ada', token)?.agent).toBe('ada')
  expect(service.lines).toEqual(["a token can't be read: it is refused"])
  expect(() => listTokens(dir, start)).toThrow('00000000.json')
})

test('tokens of several processes at once are all valid, and whatever the order of ends, each ends at the earliest', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      async (all) => {
        const dir = await testDir()
        const made = await Promise.all(all.map(() => createToken(dir, given, start)))
        await Promise.all(
          all.flatMap((ends, index) => ends.map((at) => endToken(dir, made[index]!.created.id, start + at * 1_000))),
        )
        const service = follow(dir)
        for (let second = 0; second <= 51; second++) {
          for (const [index, ends] of all.entries())
            expect(service.callers('ada', made[index]!.token) !== null).toBe(ends.every((end) => second < end))
          service.pass(1_000)
        }
      },
    ),
    { numRuns: 5 },
  ))
