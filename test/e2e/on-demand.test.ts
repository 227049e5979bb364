/** A service that clients start when they need it: hook, MCP over stdio and commands find it or start it, one of it, and it ends when idle. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readServiceFile } from '../../src/app/service-file.ts'
import { atEnd, bareEnv, cstp, freePort, root, run, testDir, testService, until } from '../support/process.ts'

const script = join(root, 'plugin/hooks/cstp-hook.mjs')
const call = JSON.stringify({
  session_id: 's',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
})

/** A folder whose service ran once by hand, and is down. */
async function folderOnce(more: Record<string, string> = {}) {
  const dir = await testDir()
  const env = bareEnv(dir, { CSTP_IDLE_EXIT: '1h', CSTP_PORT: String(await freePort()), ...more })
  const once = await testService(env, ['--port', env.CSTP_PORT!])
  await once.stop()
  const { CSTP_PORT: _, CSTP_EMBEDDER: __, ...bare } = env
  atEnd(dir, () => stop(dir))
  const hook = (own: Record<string, string> = {}) =>
    run([process.execPath, script, 'codex'], { cwd: dir, env: { ...bare, ...own }, input: call })
  return { dir, env: bare, hook }
}
const pidOf = (dir: string) => readServiceFile(dir)?.pid ?? null
function stop(dir: string, signal: NodeJS.Signals = 'SIGKILL') {
  const pid = pidOf(dir)
  if (pid !== null && pid !== process.pid)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
}
const silent = { status: 0, out: '', err: '' }

test('a killed service is started by the next call, with the settings of its folder; many calls at once start one', async () => {
  const { dir, hook } = await folderOnce()
  expect(await Promise.all([hook(), hook(), hook(), hook()])).toEqual([silent, silent, silent, silent])
  const first = pidOf(dir)
  expect(first).toBeNumber()
  expect((await readFile(join(dir, 'service.log'), 'utf8')).match(/answers at/g)).toHaveLength(1)
  // The settings that the first service had are kept: of a restart too.
  expect(readServiceFile(dir)?.env).toMatchObject({ CSTP_EMBEDDER: 'hash' })
  stop(dir)
  expect(await hook()).toEqual(silent)
  expect(pidOf(dir)).not.toBe(first)
  expect(await Bun.file(join(dir, 'service.lock')).exists()).toBe(false)
})

test('commands and MCP over stdio start it too', async () => {
  const { dir, env } = await folderOnce()
  expect(await cstp(['list'], env)).toMatchObject({ status: 0, out: 'No decision matches.\n' })
  stop(dir)
  const lines = [
    {
      method: 'initialize',
      id: 1,
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { method: 'tools/call', id: 2, params: { name: 'get_stats', arguments: {} } },
  ]
  const input = lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join('')
  const { out } = await cstp(['mcp', '--url', readServiceFile(dir)!.url], env, input)
  expect(out).toContain('total_decisions')
})

test('SIGTERM ends it, also where its folder was deleted', async () => {
  const { dir, env } = await folderOnce()
  await cstp(['list'], env)
  const pid = pidOf(dir)!
  await rm(dir, { recursive: true })
  process.kill(pid, 'SIGTERM')
  await until('its end', async () => !existsSync(`/proc/${pid}`))
})

test('it ends when there was no call for CSTP_IDLE_EXIT, and one that was started by hand does not', async () => {
  const { dir, hook, env } = await folderOnce()
  await writeFile(join(dir, 'settings.yaml'), 'server:\n  idle_exit: 1s\n')
  const file = readServiceFile(dir)!
  const config = { ...file, env: { ...file.env, CSTP_CONFIG: join(dir, 'settings.yaml') } }
  await writeFile(join(dir, 'service.json'), JSON.stringify(config))
  expect(await hook()).toEqual(silent)
  await until('its end', async () => readServiceFile(dir)?.stopped_at !== null)
  const byHand = await testService({ ...env, CSTP_EMBEDDER: 'hash' }, ['--config', join(dir, 'settings.yaml')])
  await Bun.sleep(1_500)
  expect((await fetch(`${byHand.url}/health`)).status).toBe(200)
})

test('if it can’t be started, the call is stopped by one sentence: what is down, since when, and what starts it', async () => {
  const { dir, hook, env } = await folderOnce()
  const file = readServiceFile(dir)!
  const since = file.stopped_at!
  expect((await hook({ CSTP_IDLE_EXIT: '0' })).err).toBe(
    `cstp can't judge this call, so it was not run: the cstp service at ${file.url} is down since ${since} (CSTP_IDLE_EXIT is 0); this starts it: ${file.command.join(' ')} serve --data-dir ${dir}\n`,
  )
  await writeFile(join(dir, 'service.json'), JSON.stringify({ ...file, secrets: ['CSTP_AUTH_TOKENS'] }))
  expect(await hook()).toMatchObject({ status: 2, err: expect.stringContaining('it needs CSTP_AUTH_TOKENS') })
  await writeFile(join(dir, 'service.json'), JSON.stringify({ ...file, command: [join(dir, 'gone')] }))
  const { status, err } = await hook()
  expect([status, err]).toEqual([2, expect.stringContaining(`see ${join(dir, 'service.log')}`)])
  expect(err.trim().split('\n')).toHaveLength(1)
  // A command also says how it works without the service.
  const pins = await cstp(['gateway', 'pins'], { ...env, CSTP_IDLE_EXIT: '0' })
  expect(pins).toMatchObject({ status: 1, err: expect.stringMatching(/this starts it: .+; or use --local\n$/) })
})
