/** The client in a real browser, on a page of another origin than the service. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { inTemporaryDir, root } from '../support/process.ts'
import { openMemoryProgram } from '../support/program.ts'
import { serveProgram } from '../wire/server.ts'

const chromium = Bun.which('chromium') ?? Bun.which('google-chrome')
if (!chromium) console.warn('no chromium found: the client is not tried in a browser')

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

test.skipIf(!chromium)(
  'records, reads, batches and tells errors apart',
  async () => {
    const program = await openMemoryProgram()
    const service = serveProgram(program)
    const { outputs } = await Bun.build({ entrypoints: [join(root, 'sdk/client.ts')], target: 'browser', minify: true })
    const site = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      routes: {
        '/': () =>
          new Response(page(service.url, service.token('alice')), { headers: { 'content-type': 'text/html' } }),
        '/client.js': async () =>
          new Response(await outputs[0]!.text(), { headers: { 'content-type': 'text/javascript' } }),
      },
    })
    try {
      const shown = await inTemporaryDir(async (dir) => {
        const flags = [
          '--headless=new',
          '--no-sandbox',
          '--disable-gpu',
          '--disable-dev-shm-usage',
          `--user-data-dir=${dir}`,
        ]
        const child = Bun.spawn(
          [chromium!, ...flags, '--timeout=20000', '--virtual-time-budget=20000', '--dump-dom', `${site.url}`],
          {
            stdin: 'ignore',
            stdout: 'pipe',
            stderr: 'ignore',
          },
        )
        return new Response(child.stdout).text()
      })
      expect(/<pre id="out">([^<]*)/.exec(shown)?.[1]).toBe('checks [true,true,true,true,true]')
    } finally {
      await site.stop(true)
      await service.stop()
      await program.close()
    }
  },
  120_000,
)
