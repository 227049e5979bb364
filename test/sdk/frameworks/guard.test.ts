/** What the adapters share: what is sent of a tool call, what its input becomes, and what happens if it can't be checked. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '../../../sdk/client.ts'
import { type GuardOptions, judge } from '../../../sdk/frameworks/guard.ts'
import * as fc from '../../support/property.ts'
import { away, calls, openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const ask = (tool: string, input: unknown, options: Partial<GuardOptions> = {}) =>
  judge({ client: world.client, ...options }, { tool, input })
const written = async () => (await world.trail()).length

describe('what is sent', () => {
  test('is the tool and its input, and a short form of it as the description', async () => {
    expect(await ask('write', { path: 'a', text: 'x'.repeat(1_000) })).toEqual({ verdict: 'allow' })
    const { description, category, context } = await world.seen()
    expect([category, context.input]).toEqual(['tool_use', { path: 'a', text: 'x'.repeat(1_000) }])
    expect(description).toStartWith('write {"path":"a","text":"xxx')
    expect(description.length).toBe('write '.length + 301)
  })

  test('has further fields of the action, which never replace the call', async () => {
    const context = { tool: 'harmless', branch: 'main' }
    await ask('write', { path: 'a' }, { action: () => ({ project: 'acme/app', stakes: 'low', context }) })
    expect(await world.seen()).toMatchObject({
      ...{ project: 'acme/app', stakes: 'low' },
      context: { tool: 'write', input: { path: 'a' }, branch: 'main' },
    })
  })

  test('holds no secret that was masked, while the call keeps it', async () => {
    const secret = 'DE02 1203 0000 0000 2020 51'
    const mask = (input: unknown) => ({ ...(input as object), account: '***' })
    const outcome = await ask('post', { account: secret, bcc: 'x' }, { mask })
    expect(outcome).toMatchObject({ verdict: 'modify', input: { account: secret, from: { name: 'agent' } } })
    expect(JSON.stringify(await world.server.call('listAudit', { limit: 500 }, 'root'))).not.toContain(secret)
    expect((await world.seen()).context.input).toMatchObject({ account: '***' })
  })

  test('is nothing if the mask fails', async () => {
    const before = await written()
    const mask = () => {
      throw new Error('no such field')
    }
    expect(await ask('read', {}, { mask, fail: 'open' })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('no such field'),
    })
    expect(await written()).toBe(before)
  })
})

describe('a changed input', () => {
  test('is what the rules made of it, whatever it was', () =>
    fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom('bcc', 'to', 'text', 'a.b', 'more'), fc.jsonValue({ maxDepth: 2 }), {
          maxKeys: 4,
        }),
        fc.option(fc.dictionary(fc.constantFrom('name', 'mail'), fc.string(), { maxKeys: 2 }), { nil: undefined }),
        async (rest, from) => {
          const input = { ...rest, ...(from && { from }) }
          const { bcc: _, ...kept } = structuredClone(input) as Record<string, unknown>
          const outcome = await ask('post', input)
          const wanted = { ...kept, from: { ...from, name: 'agent' } }
          expect(outcome).toMatchObject(Bun.deepEquals(wanted, input) ? { verdict: 'allow' } : { verdict: 'modify' })
          if (outcome.verdict === 'modify') expect(outcome.input).toEqual(wanted)
        },
      ),
      { numRuns: 60 },
    ))

  test('is reported with each difference and its rule', async () => {
    expect(await ask('post', { bcc: 'x' })).toEqual({
      verdict: 'modify',
      input: { from: { name: 'agent' } },
      reason:
        'Changed by policy: input.from.name from null to "agent" (quiet-post), input.bcc from "x" to null (quiet-post)',
    })
  })

  test('that is no input any more is a denial', async () => {
    expect(await ask('browse', { url: 'x' })).toEqual({
      verdict: 'deny',
      reason: 'other-tool changes context.tool, which is not an argument of the tool',
    })
  })
})

describe('what cannot be checked', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  test.each([
    ['a number that JSON does not have', { amount: Number.NaN }],
    ['a big integer', { amount: 1n }],
    ['a circle', circle],
    ['text over the limit of a context', { text: 'x'.repeat(70_000) }],
    ['a deep value', { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } }],
  ])('is denied, whatever was chosen for a service that is not there: %s', async (_, input) => {
    const errors: unknown[] = []
    const outcome = await ask('read', input, { fail: 'open', onError: (error) => errors.push(error) })
    expect(outcome).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('could not be checked') })
    expect(errors).toHaveLength(1)
  })

  test('with a wrong token it is denied', async () => {
    const client = createClient({ url: world.server.url, agent: 'ada', token: 'wrong-token-of-ada', retry: false })
    expect((await ask('read', {}, { client, fail: 'open' })).verdict).toBe('deny')
  })

  test('without a service it is denied, or runs if that was chosen; either is reported', async () => {
    const errors: unknown[] = []
    const options = { client: away, onError: (error: unknown) => errors.push(error) }
    expect((await ask('read', {}, options)).verdict).toBe('deny')
    expect((await ask('read', {}, { ...options, fail: 'open' })).verdict).toBe('allow')
    expect(errors).toMatchObject([{ kind: 'unreachable' }, { kind: 'unreachable' }])
  })

  test('a verdict is no failure: what is denied stays so', async () => {
    expect((await ask(calls.denied.tool, calls.denied.input, { fail: 'open' })).verdict).toBe('deny')
  })
})
