/** cstp call: what JSON can't hold is refused as over HTTP, and never sent as something else. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, type RunningServer, startServer, temporaryDir, testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

let server: RunningServer
beforeAll(async () => {
  const env = { CSTP_AUTH_TOKENS: 'local:secret-of-the-test' }
  server = await startServer({ dir: await temporaryDir(), env })
})
afterAll(async () => {
  await server.kill()
  await rm(server.dir, { recursive: true, force: true })
})

test.each([
  ['a number beyond what JSON holds', '{"action":{"description":"Pay","context":{"amount":1e309}}}'],
  ['one below', '{"action":{"description":"Pay","confidence":-1e999}}'],
  ['broken Unicode', '{"action":{"description":"Pay \\ud800"}}'],
])('%s: the same error over HTTP, from the terminal, and without a server', async (_, params) => {
  const response = await fetch(`${server.url}/cstp`, {
    method: 'POST',
    headers: { authorization: 'Bearer local:secret-of-the-test', 'content-type': 'application/json' },
    body: `{"jsonrpc":"2.0","id":1,"method":"cstp.checkGuardrails","params":${params}}`,
  })
  const { error } = (await response.json()) as { error: { code: number; data: unknown } }
  expect(error.code).toBe(-32602)
  const call = async (...flags: string[]) => {
    const env = bareEnv(await testDir())
    const { status, err } = await cstp(['call', 'checkGuardrails', params, '--json', ...flags], env)
    return { status, ...JSON.parse(err) }
  }
  const remote = ['--url', server.url, '--token', 'secret-of-the-test']
  expect(await call(...remote)).toMatchObject({ status: 1, error: { code: error.code, data: error.data } })
  expect(await call('--local')).toMatchObject({ status: 1, error: { code: error.code, data: error.data } })
})

test('a file that is missing is named, without the words of the system', async () => {
  const dir = await testDir()
  const none = join(dir, 'none.json')
  const { status, err } = await cstp(['call', 'getStats', `@${none}`], bareEnv(dir))
  expect([status, err]).toEqual([1, `cstp: can't read ${none}: no such file or directory\n`])
  await writeFile(none, '{')
  expect((await cstp(['call', 'getStats', `@${none}`], bareEnv(dir))).err).toContain('not JSON')
})
