/** The path of hooks: every body is answered in the form of its client, with the service up or not. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { hookAnswers } from '../../../src/app/hooks.ts'
import { hookClients } from '../../../src/domain/hook/event.ts'
import { hooksRoute } from '../../../src/surfaces/http/hooks.ts'
import { openMemoryProgram, type TestProgram } from '../../support/program.ts'
import * as fc from '../../support/property.ts'
import { serviceOf, tokens, url } from './service.ts'

let program: TestProgram
beforeAll(async () => {
  program = await openMemoryProgram()
  await program.rules('- { id: none, action: block, condition_category: tool_use }')
})
afterAll(() => program.close())

/** The service over the program, or over one whose store fails. */
function service(down = false) {
  const store = Object.assign(Object.create(program.store), {
    transaction: async () => {
      throw new StorageError('unavailable', 'the disk of /secret/place is full')
    },
  })
  const services = down ? { ...program.services, store } : program.services
  const options = hookAnswers(services, 'text', () => {})
  return serviceOf({ max_body_bytes: 4_096, routes: { '/hooks/': hooksRoute(options) } }).fetch
}

async function post(
  path: string,
  body: string | Uint8Array,
  { token = tokens.alice as string | null, down = false } = {},
) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const response = await service(down)(
    new Request(`${url}${path}`, { method: 'POST', headers, body: body as BodyInit }),
    '',
  )
  return { status: response.status, failed: response.headers.get('cstp-failed'), body: await response.json() }
}

const call = JSON.stringify({
  session_id: 's',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
})
const denies = { hookSpecificOutput: { permissionDecision: 'deny' } }

describe('POST /hooks/<client>', () => {
  test('needs credentials and a known client', async () => {
    expect(await post('/hooks/codex', call, { token: null })).toMatchObject({ status: 401 })
    expect(await post('/hooks/emacs', call)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('codex') },
    })
    expect(await post('/hooks/', call)).toMatchObject({ status: 404 })
    expect(await post('/hooks/codex', 'x'.repeat(5_000), { token: tokens.bob })).toMatchObject({ status: 413 })
  })

  test('a blocked call is denied; in shadow it is silent', async () => {
    expect(await post('/hooks/codex', call)).toMatchObject({ status: 200, failed: null, body: denies })
    expect(await post('/hooks/codex?mode=shadow', call)).toEqual({ status: 200, failed: null, body: {} })
  })

  test('what can’t be read is denied, as it could be the question whether a tool may run', async () => {
    for (const body of ['', '{not json', 'null', '[]', '{}', new Uint8Array([0xff, 0xfe])])
      expect(await post('/hooks/claude-code', body)).toMatchObject({ status: 200, body: denies })
    expect(await post('/hooks/claude-code?mode=shadow', '{not json')).toMatchObject({ status: 200, body: {} })
  })

  test('a service that can’t judge denies the call without naming its files, and stops nothing else', async () => {
    const down = { down: true }
    const answer = await post('/hooks/codex', call, down)
    expect(answer).toMatchObject({ status: 200, failed: 'true', body: denies })
    expect(JSON.stringify(answer)).not.toContain('/secret')
    expect(await post('/hooks/codex?mode=shadow', call, down)).toEqual({ status: 200, failed: 'true', body: {} })
    const start = JSON.stringify({ session_id: 's', hook_event_name: 'SessionStart' })
    expect(await post('/hooks/codex', start, down)).toEqual({ status: 200, failed: 'true', body: {} })
  })

  test('the project and the branch of the query reach the rules', async () => {
    await post('/hooks/gemini?project=acme%2Fshop&branch=fix%2F1', call.replace('PreToolUse', 'BeforeTool'))
    const [row] = await program.store.audit.list({ limit: 1 })
    expect(row).toMatchObject({ method: 'POST /hooks/gemini', detail: { input: { project: 'acme/shop' } } })
  })

  test('no body makes it answer anything but a JSON object', async () => {
    const body = fc.oneof(fc.string(), fc.json(), fc.uint8Array())
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...hookClients), body, async (client, sent) => {
        const answer = await post(`/hooks/${client}`, sent)
        expect(answer).toMatchObject({ status: 200, body: {} })
      }),
      { numRuns: 300 },
    )
  })
})
