/** Sessions end by time and by number, on a clock that the test moves. */
import { expect, test } from 'bun:test'
import { createServer } from '../../../src/surfaces/mcp/server.ts'
import { openSessions, type Sessions } from '../../../src/surfaces/mcp/sessions.ts'
import { callers } from '../../support/program.ts'
import { hello, message } from './messages.ts'

function harness() {
  const clock = { now: 0 }
  const sessions = openSessions({
    createServer: (caller) =>
      createServer({
        caller,
        dispatch: async () => ({}),
        newRequestId: () => 'r',
        stopping: new AbortController().signal,
      }),
    idle_ms: 1_000,
    most: 3,
    now: () => clock.now,
  })
  return { clock, sessions }
}

const request = (method: string, id?: string) =>
  new Request('http://cstp.test/mcp', {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(id && { 'mcp-session-id': id }),
    },
  })

async function open(sessions: Sessions, as: keyof typeof callers = 'alice'): Promise<string> {
  const response = await sessions.handle(request('POST'), hello, callers[as])
  return response.headers.get('mcp-session-id')!
}
const alive = async (sessions: Sessions, id: string, as: keyof typeof callers = 'alice') =>
  (await sessions.handle(request('POST', id), message('ping'), callers[as])).status === 200

test('a quiet one ends, one in use does not', async () => {
  const { clock, sessions } = harness()
  const [quiet, used] = [await open(sessions), await open(sessions)]
  clock.now = 999
  expect(await alive(sessions, used)).toBe(true)
  clock.now = 1_000
  await sessions.sweep()
  expect(sessions.count()).toBe(1)
  expect(await alive(sessions, quiet)).toBe(false)
  expect(await alive(sessions, used)).toBe(true)
})

test('one with an open stream is not quiet, until it closes', async () => {
  const { clock, sessions } = harness()
  const id = await open(sessions)
  const stream = await sessions.handle(request('GET', id), undefined, callers.alice)
  expect(stream.status).toBe(200)
  clock.now = 5_000
  await sessions.sweep()
  expect(sessions.count()).toBe(1)
  await stream.body!.cancel()
  clock.now = 5_999
  await sessions.sweep()
  expect(sessions.count()).toBe(1)
  clock.now = 6_000
  await sessions.sweep()
  expect(sessions.count()).toBe(0)
})

test('one too many ends the agent’s own that was quiet longest', async () => {
  const { clock, sessions } = harness()
  const other = await open(sessions, 'bob')
  const ids: string[] = []
  for (let index = 0; index < 3; index++) {
    clock.now++
    ids.push(await open(sessions))
  }
  clock.now++
  expect(await alive(sessions, ids[0]!)).toBe(true)
  const fourth = await open(sessions)
  expect(await alive(sessions, ids[1]!)).toBe(false)
  for (const id of [ids[0]!, ids[2]!, fourth]) expect(await alive(sessions, id)).toBe(true)
  expect(await alive(sessions, other, 'bob')).toBe(true)
})

test('what is no initialization opens nothing', async () => {
  const { sessions } = harness()
  for (const body of [message('ping'), [], null, 5, [null], { method: 'initialize' }])
    expect((await sessions.handle(request('POST'), body, callers.alice)).status).toBe(400)
  expect(sessions.count()).toBe(0)
})

test('closing ends all', async () => {
  const { sessions } = harness()
  const id = await open(sessions)
  const stream = await sessions.handle(request('GET', id), undefined, callers.alice)
  await sessions.close()
  expect([sessions.count(), await stream.text()]).toEqual([0, ': open\n\n'])
})
