/** Without an issuer nothing of the libraries for access tokens is loaded, and with one not before the first token. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openIssuer } from '../../support/issuer.ts'
import { atEnd, bareEnv, root, run, testDir } from '../../support/process.ts'

/** Serves, presents a JWT, and names the libraries that were loaded before and after. */
const script = `
import { loadSettings } from '${join(root, 'src/app/config/config.ts')}'
import { serve } from '${join(root, 'src/app/server.ts')}'
const { settings } = await loadSettings({ env: process.env, flags: { '--port': '0' }, readFile: async () => '' })
const log = Object.assign(() => {}, { flush() {} })
const service = await serve(settings, log)
const loaded = () => ['jose', 'openid-client', 'oauth4webapi'].filter((name) =>
  Object.keys(require.cache).some((path) => path.includes('/node_modules/' + name + '/')))
await fetch(service.url + '/cstp', { method: 'POST', body: '{}' })
const before = loaded()
const token = ['{"alg":"RS256"}', '{}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.')
const { status } = await fetch(service.url + '/cstp', { method: 'POST', headers: { authorization: 'Bearer ' + token }, body: '{}' })
console.log(JSON.stringify({ before, after: loaded(), status }))
await service.stop()
process.exit(0)
`

const loads = async (env: Record<string, string>) => {
  const dir = await testDir()
  const file = join(dir, 'serve.ts')
  await Bun.write(file, script)
  const { out, err, status } = await run([process.execPath, file], { cwd: root, env: bareEnv(dir, env) })
  if (status !== 0) throw new Error(err)
  return JSON.parse(out) as { before: string[]; after: string[]; status: number }
}

test('without an issuer no library for access tokens is loaded, whatever is presented', async () => {
  expect(await loads({})).toEqual({ before: [], after: [], status: 401 })
})

test('with an issuer the one that verifies is loaded with the first access token', async () => {
  const issuer = atEnd(await openIssuer(), (one) => one.stop())
  expect(await loads({ CSTP_OIDC_ISSUER: issuer.url })).toEqual({ before: [], after: ['jose'], status: 401 })
})
