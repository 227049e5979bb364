/** cstp token with a service that runs: created, used, rotated, revoked, by processes of their own. */
import { expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, testDir, testServer, until } from '../support/process.ts'

const create = async (dir: string, ...flags: string[]) => {
  const { out, err, status } = await cstp(['token', 'create', '--json', ...flags], bareEnv(dir))
  if (status !== 0) throw new Error(err)
  return JSON.parse(out) as { id: string; agent: string; token: string; expires_at: string | null; scopes: string[] }
}
const list = async (dir: string, ...flags: string[]) =>
  JSON.parse((await cstp(['token', 'list', '--json', ...flags], bareEnv(dir))).out).tokens as Record<string, unknown>[]

test('a token of cstp token create works at once, and after cstp token revoke no longer, without a restart', async () => {
  const dir = await testDir()
  const server = await testServer({ dir, env: { CSTP_LOG_LEVEL: 'debug' } })
  const status = async (agent: string, token: string) =>
    (
      await fetch(`${server.url}/cstp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${agent}:${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', method: 'cstp.getStats', params: {}, id: 1 }),
      })
    ).status
  const session = (agent: string, token: string) =>
    fetch(`${server.url}/dashboard/session`, {
      method: 'POST',
      headers: { 'x-cstp-dashboard': '1', origin: server.url, 'content-type': 'application/json' },
      body: JSON.stringify({ agent, token }),
    })
  const one = await create(dir, '--agent', 'ci', '--name', 'nightly', '--expires', '30d')
  await until('the token is accepted', async () => (await status('ci', one.token)) === 200)
  const [cookie = ''] = ((await session('ci', one.token)).headers.get('set-cookie') ?? '').split(';')
  const mine = () => fetch(`${server.url}/dashboard/session`, { headers: { cookie, 'x-cstp-dashboard': '1' } })
  expect((await mine()).status).toBe(200)

  const two = await create(dir, '--replaces', 'nightly', '--overlap', '1h')
  expect(two).toMatchObject({ agent: 'ci', name: 'nightly', replaces: one.id })
  await until('the new token is accepted', async () => (await status('ci', two.token)) === 200)
  expect(await status('ci', one.token)).toBe(200)
  expect((await list(dir)).map(({ id, state }) => [id, state]).sort()).toEqual(
    [
      [one.id, 'active'],
      [two.id, 'active'],
    ].sort(),
  )

  expect((await cstp(['token', 'revoke', one.id], bareEnv(dir))).status).toBe(0)
  await until('the old token is refused', async () => (await status('ci', one.token)) === 401)
  expect((await mine()).status).toBe(401)
  expect(await status('ci', two.token)).toBe(200)
  expect(await list(dir)).toHaveLength(1)
  expect((await list(dir, '--all')).find(({ id }) => id === one.id)).toMatchObject({
    state: 'revoked',
    last_used_at: expect.any(String),
  })
  await server.kill()
  const log = await server.log()
  for (const { token } of [one, two]) expect(log).not.toContain(token.slice(5, 30))
})

test('two processes that create tokens at once lose none', async () => {
  const dir = await testDir()
  const made = await Promise.all(['a', 'b', 'c', 'd'].map((agent) => create(dir, '--agent', agent)))
  expect((await list(dir)).map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
  const stored = await Promise.all(
    (await readdir(join(dir, 'tokens'))).map((name) => readFile(join(dir, 'tokens', name), 'utf8')),
  )
  for (const { token } of made) expect(stored.join('')).not.toContain(token.slice(5))
})

test('the token alone is on stdout, and who holds what is in cstp config', async () => {
  const dir = await testDir()
  const { out, err } = await cstp(['token', 'create', '--agent', 'lead', '--role', 'lead'], bareEnv(dir))
  expect(out).toMatch(/^cstp_[0-9a-f]{64}\n$/)
  expect(err).not.toContain(out.trim())
  expect((await cstp(['config'], bareEnv(dir))).out).toMatch(/^lead {3}read curate approve$/m)
})

test.each([
  [['--agent', 'a:b'], 'the agent contains a colon'],
  [['--scopes', 'read'], 'needs --agent'],
  [['--agent', 'a', '--scopes', 'all'], '--scopes: expected read, write'],
  [['--agent', 'a', '--role', 'king'], '--role: expected lead, auditor'],
  [['--agent', 'a', '--expires', 'soon'], '--expires: expected a time such as 8h'],
  [['--agent', 'a', '--overlap', 'never', '--replaces', 'x'], 'there is no valid token x'],
  [['--agent', 'a', '--scopes', 'write,approve'], 'would have approve and write'],
])('create %j is refused, and creates nothing', async (flags, message) => {
  const dir = await testDir()
  const { status, out, err } = await cstp(['token', 'create', ...flags], bareEnv(dir))
  expect([status === 0, out]).toEqual([false, ''])
  expect(err).toContain(message)
  expect(await list(dir)).toEqual([])
})
