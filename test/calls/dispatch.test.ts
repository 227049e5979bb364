/** Dispatch: unknown methods, the error for each exception, and what the log and the metrics record. */
import { afterEach, describe, expect, test } from 'bun:test'
import { CstpError } from '../../sdk/errors.ts'
import { StorageError, type StorageErrorKind } from '../../sdk/storage/errors.ts'
import { createDispatch } from '../../src/calls/dispatch.ts'
import type { Services } from '../../src/calls/services.ts'
import type { Log } from '../../src/core/log.ts'
import type { Observe } from '../../src/core/observed.ts'
import { methods } from '../../src/methods/table.ts'
import { callers, openMemoryProgram, type TestProgram } from '../support/program.ts'

const opened: TestProgram[] = []
afterEach(async () => {
  for (const program of opened.splice(0)) await program.close()
})

/** A dispatch over real services of which some are replaced, with what it told. */
async function harness(replace: (services: Services) => Partial<Services> = () => ({})) {
  const program = await openMemoryProgram()
  opened.push(program)
  const seen: Parameters<Observe>[0][] = []
  const lines: [string, string, Record<string, unknown> | undefined][] = []
  const log: Log = Object.assign((...line: Parameters<Log>) => void lines.push([line[0], line[1], line[2]]), {
    flush() {},
  })
  const services = { ...program.services, log, ...replace(program.services) }
  const dispatch = createDispatch(methods, services, (one) => seen.push(one))
  const caller = new AbortController()
  const { signal } = caller
  const call = (method: string, params: unknown = {}) =>
    dispatch({ method, params, caller: callers.root, request_id: 'req-1', signal }).catch((error: unknown) => error)
  return { call, seen, lines, leave: () => caller.abort(new Error('the connection was closed')) }
}

test('methods are in alphabetical order under their wire names', () => {
  const names = [...methods.keys()]
  expect(names).toEqual([...names].sort())
  for (const name of names) expect(name).toMatch(/^cstp\.[a-z][A-Za-z]+$/)
})

test.each([
  'cstp.getDecison',
  'getDecision',
  'cstp.',
  '',
  '__proto__',
  'constructor',
  'cstp.__proto__',
  'x'.repeat(100_000),
])('an unknown method is reported, with those that are known: %s', async (method) => {
  const { call } = await harness()
  const error = (await call(method)) as CstpError
  expect(error).toMatchObject({ code: -32601, data: { available: [...methods.keys()] } })
  expect(error.message.length).toBeLessThan(100)
})

test('the nearest method is named', async () => {
  const { call } = await harness()
  expect(((await call('cstp.getDecison')) as CstpError).message).toContain('did you mean cstp.getDecision?')
  expect(((await call('cstp.get_decision')) as CstpError).message).toContain('did you mean cstp.getDecision?')
})

test.each([
  ['queryDecisions', { query: 'what was done before?' }],
  ['preAction', { action: { description: 'Deploy', category: 'release', confidence: 0.9 } }],
])('a caller of %s that leaves is no error of the service', async (name, params) => {
  let hasRecorded = false
  const { call, lines, leave } = await harness(({ embedder }) => ({
    embedder: {
      ...embedder,
      embed: async (texts, kind, signal) => {
        if (hasRecorded) leave()
        return embedder.embed(texts, kind, signal)
      },
    },
  }))
  await call('cstp.recordDecision', { decision: 'a', confidence: 1, category: 'b', bridge: null })
  hasRecorded = true
  lines.length = 0
  await call(`cstp.${name}`, params)
  expect(lines.map(([level]) => level)).toContain('info')
  expect(lines.map(([level]) => level)).not.toContain('error')
})

describe('what a driver throws', () => {
  const failing = (thrown: unknown) => (services: Services) => ({
    store: { ...services.store, transaction: () => Promise.reject(thrown) },
  })
  const decision = { decision: 'a', confidence: 1, category: 'b' }

  test.each<StorageErrorKind>(['not_found', 'conflict', 'invalid', 'corrupt'])(
    '%s is the method’s own failure, without a word of the driver',
    async (kind) => {
      const { call, lines } = await harness(failing(new StorageError(kind, 'at /var/lib/secret.db')))
      const error = (await call('cstp.recordDecision', decision)) as CstpError
      expect(error).toMatchObject({ error: 'record_failed', code: -32005, data: { kind, request_id: 'req-1' } })
      expect(JSON.stringify([error.message, error.data])).not.toContain('secret')
      expect(lines.find(([level]) => level === 'error')).toMatchObject([
        'error',
        'method failed',
        { request_id: 'req-1', method: 'cstp.recordDecision', error: 'at /var/lib/secret.db' },
      ])
    },
  )

  test('a commit that nobody confirmed is not said to have changed nothing', async () => {
    const message = async (outcomeUnknown: boolean) => {
      const { call } = await harness(failing(new StorageError('unavailable', 'away', { outcomeUnknown })))
      return ((await call('cstp.recordDecision', decision)) as CstpError).message
    }
    expect(await message(false)).toContain('nothing was changed, try again')
    expect(await message(true)).toContain('the change may have been made')
  })

  test.each([
    ['cstp.recordDecision', decision],
    [
      'cstp.linkDecisions',
      {
        source_id: '2026-07-01-decision-000000000001',
        target_id: '2026-07-01-decision-000000000002',
        edge_type: 'refines',
      },
    ],
    ['cstp.reviewDecision', { id: '2026-07-01-decision-000000000001', outcome: 'success' }],
  ])('an outage is the same error for every method, with the time to wait: %s', async (method, params) => {
    const { call } = await harness(failing(new StorageError('unavailable', 'away')))
    expect(await call(method, params)).toMatchObject({
      error: 'unavailable',
      code: -32010,
      data: { kind: 'unavailable', retry_after_ms: 1_000 },
    })
  })

  test.each([
    ['an error', new TypeError('undefined is not /var/lib/secret')],
    ['a text', 'at /var/lib/secret'],
    ['undefined', undefined],
    ['null', null],
    ['an object', { code: 5 }],
  ])('anything else is an internal error with a request id: %s', async (_, thrown) => {
    const { call, lines } = await harness(failing(thrown))
    const error = (await call('cstp.recordDecision', decision)) as CstpError
    expect(error).toBeInstanceOf(CstpError)
    expect([error.code, error.message, error.data]).toEqual([-32603, 'Internal error', { request_id: 'req-1' }])
    expect(lines.filter(([level]) => level === 'error')).toHaveLength(1)
  })
})

test('every call is observed once, with its code and time', async () => {
  const { call, seen } = await harness()
  await call('cstp.getStats')
  await call('cstp.getDecision', { id: 'x' })
  await call('nope')
  expect(seen.map(({ method, code }) => [method, code])).toEqual([
    ['cstp.getStats', 0],
    ['cstp.getDecision', -32602],
    ['nope', -32601],
  ])
  for (const { duration_ms } of seen) expect(duration_ms).toBeGreaterThanOrEqual(0)
})
