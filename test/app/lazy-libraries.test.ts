/** What the server doesn't need is not loaded: an issuer's libraries not before the first token, those of MCP not before the first client. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openIssuer } from '../support/issuer.ts'
import { atEnd, bareEnv, root, run, testDir } from '../support/process.ts'

/** Serves as the command line does, presents a JWT and then an MCP client, and names the libraries that were loaded after each. */
const script = `
import '${join(root, 'src/cli/commands.ts')}'
import { loadSettings } from '${join(root, 'src/app/config/config.ts')}'
import { serve } from '${join(root, 'src/app/server.ts')}'
const { settings } = await loadSettings({ env: process.env, flags: { '--port': '0' }, readFile: async () => '' })
const log = Object.assign(() => {}, { flush() {} })
const service = await serve(settings, log)
const libraries = ['jose', 'openid-client', 'oauth4webapi', '@modelcontextprotocol', '@opentelemetry/sdk', '@lancedb', '@huggingface']
const loaded = () => libraries.filter((name) => Object.keys(require.cache).some((path) => path.includes('/node_modules/' + name)))
const post = (path, token, body) =>
  fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
await post('/cstp', 'unknown', {})
const start = loaded()
const token = ['{"alg":"RS256"}', '{}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.')
const { status } = await post('/cstp', token, {})
const afterToken = loaded()
await post('/mcp', 'planner:a-token-of-tests', { jsonrpc: '2.0', id: 1, method: 'ping' })
console.log(JSON.stringify({ start, status, afterToken, afterClient: loaded() }))
await service.stop()
process.exit(0)
`

const loads = async (env: Record<string, string>) => {
  const dir = await testDir()
  const file = join(dir, 'serve.ts')
  await Bun.write(file, script)
  const { out, err, status } = await run([process.execPath, file], {
    cwd: root,
    env: bareEnv(dir, { CSTP_AUTH_TOKENS: 'planner:a-token-of-tests', CSTP_EMBEDDER: 'hash', ...env }),
  })
  if (status !== 0) throw new Error(err)
  return JSON.parse(out) as unknown
}

test('without an issuer no library for access tokens is loaded, whatever is presented', async () => {
  const afterClient = ['@modelcontextprotocol']
  expect(await loads({})).toEqual({ start: [], status: 401, afterToken: [], afterClient })
})

test('with an issuer the one that verifies is loaded with the first access token', async () => {
  const issuer = atEnd(await openIssuer(), (one) => one.stop())
  const afterClient = ['jose', '@modelcontextprotocol']
  expect(await loads({ CSTP_OIDC_ISSUER: issuer.url })).toEqual({
    start: [],
    status: 401,
    afterToken: ['jose'],
    afterClient,
  })
})
