/** The client in a real browser, on a page of another origin than the service. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { executable, launch } from '../dashboard/browser.ts'
import { atEnd, root } from '../support/process.ts'
import { memoryProgram } from '../support/program.ts'
import { serveProgram } from '../wire/server.ts'

const page = (url: string, token: string): string => `<!doctype html><title>client</title><pre id="out">nothing</pre>
<script type="module">
import { createClient, isClientError, isCstpError } from '/client.js'
const out = document.getElementById('out')
try {
  const client = createClient({ url: '${url}', agent: 'alice', token: '${token}' })
  const { decision_id } = await client.recordDecision({ decision: 'Use SQLite', category: 'architecture', confidence: 0.8 })
  const [stats, missing] = await client.batch([{ method: 'getStats' }, { method: 'getDecision', params: { id: 'x' } }])
  const error = await createClient({ url: '${url}', agent: 'alice', token: 'wrong' }).getStats().catch((one) => one)
  const checks = [
    (await client.getDecision({ id: decision_id })).recorded_by === 'alice',
    stats.result.total === 1,
    isCstpError(missing.error, 'invalid_params'),
    isClientError(error, 'unauthorized'),
    (await client.health()).status === 'ok',
  ]
  out.textContent = 'checks ' + JSON.stringify(checks)
} catch (error) {
  out.textContent = 'failed ' + error.stack
}
</script>`

test.skipIf(!executable)('records, reads, batches and tells errors apart', async () => {
  const program = await memoryProgram()
  const service = atEnd(serveProgram(program), (served) => served.stop())
  const { outputs } = await Bun.build({ entrypoints: [join(root, 'sdk/client.ts')], target: 'browser', minify: true })
  const html = new Response(page(service.url, service.token('alice')), { headers: { 'content-type': 'text/html' } })
  const client = new Response(await outputs[0]!.text(), { headers: { 'content-type': 'text/javascript' } })
  const routes = { '/': html, '/client.js': client }
  const site = atEnd(Bun.serve({ hostname: '127.0.0.1', port: 0, routes }), (served) => served.stop(true))
  const browser = atEnd(await launch(), (launched) => launched.close())
  const shown = await browser.newPage()
  await shown.goto(site.url.href)
  expect(await shown.locator('#out', { hasNotText: 'nothing' }).textContent()).toBe('checks [true,true,true,true,true]')
})
