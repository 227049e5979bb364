/** Reports after calls of tools: a shell keeps them, and the next hook of the session sends them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandOf, type Wiring } from '../../src/app/init/wiring.ts'
import { bareEnv, freePort, root, run } from '../support/process.ts'
import { type Running, startServing, tokens } from '../support/serving.ts'

const rules = `
- id: no-force
  action: block
  conditions: [{ type: field, field: context.command, operator: contains, value: push --force, when_missing: no_match }]
  message: No forced pushes
`
let running: Running
let dir: string
let reports: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-reports-'))
  reports = join(dir, 'reports')
  await writeFile(join(dir, 'rules.yaml'), rules)
  running = await startServing({ GUARDRAILS_PATHS: dir, CSTP_PACKS: 'none' })
})
afterAll(async () => {
  await running.stop()
  await rm(dir, { recursive: true, force: true })
})

/** Codex, connected in `dir` with the script of this tree. */
const line = (event: string, url: string | null = running.url) => {
  const wiring = { shared: false, required: false, mode: 'enforce', url, data_dir: dir, program: [], gateway: false }
  const command = commandOf(
    'codex',
    { ...wiring, runtime: process.execPath, http: false, windows: false } as Wiring,
    event,
  )
  return command.replace(join(dir, 'hook/cstp-hook.mjs'), join(root, 'plugin/hooks/cstp-hook.mjs'))
}
const tell = (session_id: string, event: string, more: object = {}, url: string | null = running.url) =>
  run(['sh', '-c', line(event, url)], {
    cwd: dir,
    env: { ...bareEnv(dir), CSTP_AGENT: 'ada', CSTP_TOKEN: tokens.ada.split(':')[1]! },
    input: JSON.stringify({ session_id, cwd: dir, hook_event_name: event, ...more }),
  })
const shell = (command: string, tool_use_id = 't1') => ({ tool_name: 'Bash', tool_input: { command }, tool_use_id })
const done = (command: string, tool_use_id?: string) => ({ ...shell(command, tool_use_id), tool_response: 'done' })
const silent = { status: 0, out: '', err: '' }
const sessionOf = async (id: string) => {
  const { sessions } = await running.call('listSessions', {}, 'ada')
  return (sessions as Record<string, unknown>[]).find(({ session_id }) => session_id === id)
}

test('a report is kept without starting a runtime, and sent by the next hook of its session', async () => {
  expect(await tell('a', 'PreToolUse', shell('ls'))).toEqual(silent)
  expect(line('PostToolUse')).toContain(` || ${line('Stop')}`)
  expect(await tell('a', 'PostToolUse', done('ls'))).toEqual(silent)
  expect(await readdir(reports)).toEqual([expect.stringMatching(/^codex-[0-9a-f]{8}\.ada\.\d+$/)])
  // Neither another session nor a hook for another service takes it.
  await tell('b', 'PreToolUse', shell('ls'))
  await tell('a', 'Stop', {}, null)
  expect(await sessionOf('a')).toMatchObject({ actions: 0 })
  expect(await tell('a', 'PreToolUse', shell('pwd', 't2'))).toEqual(silent)
  expect(await sessionOf('a')).toMatchObject({ actions: 1, ran_unjudged: 0, verdicts: { allow: 2 } })
  expect(await readdir(reports)).toEqual([])
})

test('without a folder for it, a report is sent at once', async () => {
  await rm(reports, { recursive: true })
  await tell('c', 'PostToolUse', done('ls'))
  expect(await sessionOf('c')).toMatchObject({ actions: 1, ran_unjudged: 1 })
})

test('a call that ran though it was stopped is found by its report, however late it comes', async () => {
  expect((await tell('d', 'PreToolUse', shell('git push --force'))).out).toContain('no-force')
  await tell('d', 'PostToolUse', done('git push --force'))
  expect(await sessionOf('d')).toMatchObject({ ran_though_denied: 0 })
  // The session ended without a hook: a later one sends what it left.
  const [name] = await readdir(reports)
  await utimes(join(reports, name!), 0, Date.now() / 1_000 - 61)
  await tell('e', 'SessionStart')
  expect(await sessionOf('d')).toMatchObject({ actions: 1, ran_though_denied: 1 })
})

test('reports wait for a service that is down, and for a shell that still writes; what is none is removed', async () => {
  const away = `http://127.0.0.1:${await freePort()}`
  await tell('f', 'Stop', {}, away)
  await tell('f', 'PostToolUse', done('ls'), away)
  expect(await tell('f', 'Stop', {}, away)).toMatchObject({ status: 1, err: expect.stringContaining('is down') })
  expect(await readdir(reports)).toEqual([expect.stringMatching(/^codex-[0-9a-f]{8}\.ada\.\d+$/)])
  await rm(reports, { recursive: true })
  await tell('g', 'PostToolUse', done('ls'))
  await tell('g', 'Stop')
  await tell('g', 'PostToolUse', done('pwd', 't3'))
  const [name] = await readdir(reports)
  const path = join(reports, name!)
  await writeFile(path, '{"session_id":"g","hook_ev')
  await tell('g', 'Stop')
  expect(await readdir(reports)).toEqual([name!])
  await utimes(path, 0, Date.now() / 1_000 - 11)
  expect(await tell('g', 'Stop')).toEqual(silent)
  expect(await readdir(reports)).toEqual([])
  expect(await sessionOf('g')).toMatchObject({ actions: 1 })
})
