/** CSTP_DASHBOARD=off: no page, no file, no login, and no session that is still good. */
import { expect, test } from 'bun:test'
import type { RunningServer } from '../../support/process.ts'
import { testDir, testServer } from '../../support/process.ts'

const tokens = { CSTP_AUTH_TOKENS: 'alice:token-of-alice-0001' }

test('off removes the dashboard, and a session from before opens nothing', async () => {
  const dir = await testDir()
  const own = (server: RunningServer, cookie = '') => ({
    'x-cstp-dashboard': '1',
    origin: server.url,
    'content-type': 'application/json',
    ...(cookie && { cookie }),
  })
  const call = async (server: RunningServer, cookie: string): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'cstp.getStats', params: {}, id: 1 })
    return (await fetch(`${server.url}/cstp`, { method: 'POST', headers: own(server, cookie), body })).status
  }
  const body = JSON.stringify({ agent: 'alice', token: 'token-of-alice-0001' })
  const before = await testServer({ dir, env: tokens })
  const login = await fetch(`${before.url}/dashboard/session`, { method: 'POST', headers: own(before), body })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  expect(await call(before, cookie)).toBe(200)
  await before.kill()
  const server = await testServer({ dir, env: { ...tokens, CSTP_DASHBOARD: 'off' } })
  for (const path of ['/dashboard', '/dashboard/', '/dashboard/decisions', '/dashboard/assets/main.js'])
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404])
  for (const method of ['GET', 'POST', 'DELETE']) {
    const sent = { method, headers: own(server, cookie), ...(method === 'POST' && { body }) }
    const answer = await fetch(`${server.url}/dashboard/session`, sent)
    expect([method, answer.status, answer.headers.get('set-cookie')]).toEqual([method, 404, null])
  }
  expect(await call(server, cookie)).toBe(401)
  await server.kill()
  const again = await testServer({ dir, env: tokens })
  expect(await call(again, cookie)).toBe(200)
})
