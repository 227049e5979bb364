/** The policy interfaces keep the limits of the service, whatever body comes: scope, rate, size; every answer is typed JSON. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CstpError } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../../src/calls/dispatch.ts'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { authzenRoutes } from '../../../src/surfaces/policy/authzen.ts'
import { opaRoutes } from '../../../src/surfaces/policy/opa.ts'
import { absurd, hostileText, mutated, toText } from '../../fuzz/values.ts'
import * as fc from '../../support/property.ts'
import { openRuled, type Ruled } from '../../support/ruled.ts'
import { serviceOf, tokens, url } from '../http/service.ts'

const single = { subject: { type: 'user', id: 'a' }, action: { name: 'read' }, resource: { type: 'doc', id: '1' } }
const batch = { ...single, evaluations: [{}, {}, {}] }
const paths: [string, object][] = [
  ['/access/v1/evaluation', single],
  ['/access/v1/evaluations', batch],
  ['/v1/data/cstp/allow', { input: { action: { description: 'Read' } } }],
]

/** The routes around a dispatch that fails in a way, or counts. */
function open(dispatch: Dispatch, options: Parameters<typeof serviceOf>[0] = {}) {
  const routes = { ...authzenRoutes({ dispatch, url: () => url }), ...opaRoutes({ dispatch }) }
  const { fetch } = serviceOf({ ...options, routes })
  return async (path: string, body: unknown, as: keyof typeof tokens = 'bob') => {
    const headers = { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' }
    const request = new Request(url + path, { method: 'POST', body: JSON.stringify(body), headers })
    const response = await fetch(request, '')
    return { status: response.status, after: response.headers.get('retry-after'), body: await response.json() }
  }
}
const failing = (error: CstpError) => open(() => Promise.reject(error))
const never: Dispatch = () => Promise.reject(new Error('it was called'))

describe.each(paths)('%s', (path, body) => {
  test('needs the scope of checkGuardrails', async () => {
    expect(await open(never)(path, body, 'nobody')).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  })

  test('is refused when the requests are used up, before its body is read', async () => {
    const requests = createRateLimiter({ per_minute: 60, burst: 1, now: () => 0 })
    requests.take('bob', 1)
    const refused = { status: 429, after: '1', body: { error: 'rate_limited' } }
    expect(await open(never, { requests })(path, body)).toMatchObject(refused)
  })

  test('a body over the limit is not read', async () => {
    const refused = { status: 413, body: { error: 'payload_too_large' } }
    expect(await open(never)(path, { ...body, more: 'x'.repeat(5_000) })).toMatchObject(refused)
  })
})

test('each evaluation of a batch costs a request', async () => {
  const requests = createRateLimiter({ per_minute: 60, burst: 2, now: () => 0 })
  const refused = { status: 429, body: { error: 'rate_limited' } }
  expect(await open(never, { requests })('/access/v1/evaluations', batch)).toMatchObject(refused)
  let calls = 0
  const counting: Dispatch = () => Promise.reject(new CstpError('internal_error', `call ${++calls}`))
  const more = { requests: createRateLimiter({ per_minute: 60, burst: 3, now: () => 0 }) }
  expect((await open(counting, more)('/access/v1/evaluations', batch)).status).toBe(200)
  expect([calls, await more.requests.take('bob', 1)]).toEqual([3, 1])
})

describe('a check that fails', () => {
  const failure = new CstpError('guardrail_eval_failed', 'cstp.checkGuardrails failed', { kind: 'unavailable' })
  const quota = new CstpError('rate_limited', 'Too many bytes today', { retry_after: 60 })
  const [authzen, evaluations, opa] = paths.map(([path]) => path) as [string, string, string]

  test('has an error status and an error in the form of the standard', async () => {
    for (const [path, form] of [
      [authzen, 'error'],
      [opa, 'code'],
    ] as const) {
      const body = path === authzen ? single : { input: 1 }
      const { message } = failure
      expect(await failing(failure)(path, body)).toEqual({
        ...{ status: 500, after: null },
        body: { [form]: 'guardrail_eval_failed', message },
      })
      expect(await failing(quota)(path, body)).toMatchObject({
        status: 429,
        after: '60',
        body: { [form]: 'rate_limited' },
      })
    }
  })

  test('is a denial with the error among others', async () => {
    const denied = { decision: false, context: { error: { status: 500, message: failure.message } } }
    expect((await failing(failure)(evaluations, batch)).body).toEqual({ evaluations: [denied, denied, denied] })
  })
})

describe('any body', () => {
  let place: Ruled
  beforeAll(async () => {
    place = await openRuled('- { id: r, message: m, condition_category: other }', { CSTP_RATE_LIMIT: '0' })
  })
  afterAll(() => place.close())

  const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
  const isDecision = (value: Record<string, unknown>): boolean => typeof value.decision === 'boolean'
  const forms: Record<string, (body: Record<string, never>) => boolean> = {
    [paths[0]![0]]: isDecision,
    [paths[1]![0]]: (body) => isDecision(body) || (body.evaluations as Record<string, unknown>[]).every(isDecision),
    [paths[2]![0]]: ({ result }) =>
      typeof (result as { allow: unknown }).allow === 'boolean' && isText((result as { verdict: unknown }).verdict),
  }
  const bodies = (right: object): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 6, arbitrary: mutated(fc.constant(right)).map(toText) },
      { weight: 2, arbitrary: absurd.map(toText) },
      { weight: 1, arbitrary: absurd.map((input) => toText({ ...right, input, context: input })) },
      { weight: 1, arbitrary: hostileText },
    )

  test.each(paths)('is answered with a verdict or a typed error, in JSON: %s', (path, right) =>
    fc.assert(
      fc.asyncProperty(bodies(right), async (text) => {
        const { status, headers, body } = await place.post(path, text)
        expect(headers.get('content-type')).toBe('application/json')
        if (status === 200) expect(forms[path]!(body)).toBe(true)
        else expect([400, isText(body.message), isText(body.error ?? body.code)]).toEqual([status, true, true])
      }),
      { numRuns: 200 },
    ),
  )
})
