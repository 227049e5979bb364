/** JSON-RPC 2.0 from text to text: envelopes, ids, notifications and batches. @see https://www.jsonrpc.org/specification */
import { describe, expect, test } from 'bun:test'
import { CstpError } from '../../../sdk/errors.ts'
import type { Request } from '../../../src/calls/dispatch.ts'
import { answer, type Exchange } from '../../../src/surfaces/http/jsonrpc.ts'

/** A service with the methods of the specification's examples, that take their parameters by name. */
async function spec({ method, params }: Request): Promise<unknown> {
  if (method === 'forbidden') throw new CstpError('forbidden', 'no')
  if (!['subtract', 'get_data', 'nothing', 'slow', 'update'].includes(method))
    throw new CstpError('method_not_found', 'Method not found')
  if (params === null || typeof params !== 'object' || Array.isArray(params))
    throw new CstpError('invalid_params', 'Invalid params: not an object', { issues: [] })
  const { minuend = 0, subtrahend = 0 } = params as { minuend?: number; subtrahend?: number }
  if (method === 'subtract') return minuend - subtrahend
  if (method === 'get_data') return ['hello', 5]
  if (method === 'slow') await Bun.sleep(5)
  return method === 'nothing' ? null : method
}

function harness(tokens = 1_000) {
  const seen: Request[] = []
  let left = tokens
  const exchange: Exchange = {
    caller: { agent: 'alice', scopes: new Set(['read'] as const) },
    signal: new AbortController().signal,
    newRequestId: () => `r${seen.length}`,
    take(cost) {
      if (cost > left) return 7
      left -= cost
      return 0
    },
  }
  const send = async (text: string) => {
    const given = await answer(Buffer.from(text), exchange, (request) => {
      seen.push(request)
      return spec(request)
    })
    return { ...given, json: given.body === null ? null : (JSON.parse([...given.body].join('')) as unknown) }
  }
  return { send, seen, left: () => left }
}

const answerTo = async (text: string) => (await harness().send(text)).json
const failure = (code: number, id: unknown = null) => ({
  jsonrpc: '2.0',
  error: { code, message: expect.any(String) },
  id,
})

describe('single requests', () => {
  test.each([
    ['{"jsonrpc":"2.0","method":"subtract","params":{"subtrahend":23,"minuend":42},"id":3}', 19, 3],
    ['{"jsonrpc":"2.0","method":"subtract","params":{"minuend":42,"subtrahend":23},"id":"4"}', 19, '4'],
    ['{"jsonrpc":"2.0","method":"subtract","id":0}', 0, 0],
    ['{"jsonrpc":"2.0","method":"subtract","id":-1}', 0, -1],
    ['{"jsonrpc":"2.0","method":"get_data","id":""}', ['hello', 5], ''],
    ['{"jsonrpc":"2.0","method":"nothing","id":null}', null, null],
    ['{"jsonrpc":"2.0","method":"update","id":9007199254740991,"extra":[1]}', 'update', 9007199254740991],
    ['{"jsonrpc":"2.0","method":"update","id":"\\ud800\\"<"}', 'update', '\ud800"<'],
  ])('%s', async (text, result, id) => {
    expect(await answerTo(text)).toEqual({ jsonrpc: '2.0', result, id })
  })

  test.each([
    '',
    '{',
    '{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]',
    'nul',
    "{'a':1}",
    '[1,]',
    '\u0000',
    '{"a":1}}',
  ])('no JSON: %j', async (text) => {
    const { json, error } = await harness().send(text)
    expect(json).toEqual(failure(-32700))
    expect(error).toBe('parse_error')
  })

  test.each([
    ['{"jsonrpc":"2.0","method":1,"params":"bar"}', null],
    ['{"jsonrpc":"2.0","id":7}', 7],
    ['{"method":"subtract","id":"x"}', 'x'],
    ['{"jsonrpc":"1.0","method":"subtract","id":1}', 1],
    ['{"jsonrpc":2.0,"method":"subtract","id":1}', 1],
    ['{"jsonrpc":"2.0","method":"subtract","id":1.5}', null],
    ['{"jsonrpc":"2.0","method":"subtract","id":9007199254740993}', null],
    ['{"jsonrpc":"2.0","method":"subtract","id":{}}', null],
    ['{"jsonrpc":"2.0","method":"subtract","id":[1]}', null],
    ['{"jsonrpc":"2.0","method":"subtract","id":true}', null],
    ['null', null],
    ['1', null],
    ['"text"', null],
    ['{}', null],
  ])('no request: %s', async (text, id) => {
    const { send, seen } = harness()
    const { json } = await send(text)
    expect(json).toEqual(failure(-32600, id))
    expect(seen).toEqual([])
  })

  test.each(['[1]', '[]', '"bar"', 'null', '5', 'true'])('params %s are no names', async (params) => {
    expect(await answerTo(`{"jsonrpc":"2.0","method":"subtract","params":${params},"id":1}`)).toMatchObject(
      failure(-32602, 1),
    )
  })

  test('what is wrong with the method is reported before what is wrong with its parameters', async () => {
    expect(await answerTo('{"jsonrpc":"2.0","method":"foobar","params":[1],"id":1}')).toEqual(failure(-32601, 1))
    const { error } = await harness().send('{"jsonrpc":"2.0","method":"forbidden","id":1}')
    expect(error).toBe('forbidden')
  })

  test('a member named __proto__ is no member of the envelope', async () => {
    const text = '{"__proto__":{"jsonrpc":"2.0","method":"subtract"},"id":1}'
    expect(await answerTo(text)).toEqual(failure(-32600, 1))
  })

  test('the request carries caller, parameters, id and signal', async () => {
    const { send, seen } = harness()
    await send('{"jsonrpc":"2.0","method":"update","params":{"a":[1]},"id":1}')
    await send('{"jsonrpc":"2.0","method":"update","id":1}')
    expect(seen).toMatchObject([
      { method: 'update', params: { a: [1] }, request_id: 'r0', caller: { agent: 'alice' } },
      { params: {}, request_id: 'r1' },
    ])
  })
})

describe('notifications', () => {
  test.each(['update', 'foobar', 'forbidden'])('%s runs and is not answered', async (method) => {
    const { send, seen } = harness()
    const { body, error } = await send(`{"jsonrpc":"2.0","method":"${method}","params":{"a":1}}`)
    expect(body).toBeNull()
    expect(seen.map((request) => request.method)).toEqual([method])
    expect(error).toBe(
      method === 'update' ? null : ({ foobar: 'method_not_found', forbidden: 'forbidden' } as const)[method]!,
    )
  })

  test('an id of null is a request', async () => {
    expect(await answerTo('{"jsonrpc":"2.0","method":"foobar","id":null}')).toEqual(failure(-32601, null))
  })
})

describe('batches', () => {
  test('the example of the specification', async () => {
    const text = `[
      {"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": "1"},
      {"jsonrpc": "2.0", "method": "update", "params": {}},
      {"jsonrpc": "2.0", "method": "slow", "id": "2"},
      {"foo": "boo"},
      {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
      {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
    ]`
    expect(await answerTo(text)).toEqual([
      { jsonrpc: '2.0', result: 19, id: '1' },
      { jsonrpc: '2.0', result: 'slow', id: '2' },
      failure(-32600),
      failure(-32601, '5'),
      { jsonrpc: '2.0', result: ['hello', 5], id: '9' },
    ])
  })

  test('an empty one is no request; of entries that are none each is reported', async () => {
    expect(await answerTo('[]')).toEqual(failure(-32600))
    expect(await answerTo('[1]')).toEqual([failure(-32600)])
    expect(await answerTo('[1,[],null]')).toEqual([failure(-32600), failure(-32600), failure(-32600)])
  })

  test('of notifications only, nothing is answered', async () => {
    const { send, seen } = harness()
    expect((await send('[{"jsonrpc":"2.0","method":"update"},{"jsonrpc":"2.0","method":"foobar"}]')).body).toBeNull()
    expect(seen).toHaveLength(2)
  })

  const batchOf = (size: number) => JSON.stringify(Array(size).fill({ jsonrpc: '2.0', method: 'update', id: 1 }))

  test('100 entries run, 101 are refused and none runs', async () => {
    expect(await answerTo(batchOf(100))).toHaveLength(100)
    const { send, seen } = harness()
    expect((await send(batchOf(101))).json).toEqual(failure(-32600))
    expect(seen).toHaveLength(0)
  })

  test('each entry after the first costs one; a batch that cannot be paid runs not at all', async () => {
    const { send, seen, left } = harness(10)
    await send(batchOf(5))
    expect(left()).toBe(6)
    expect(await send(batchOf(8))).toMatchObject({ error: 'rate_limited', retry_after: 7, json: failure(-32002) })
    expect(seen).toHaveLength(5)
    expect(left()).toBe(6)
  })

  test('an error in it does not set the status', async () => {
    const { error } = await harness().send('[{"jsonrpc":"2.0","method":"forbidden","id":1}]')
    expect(error).toBeNull()
  })
})

describe('a long body', () => {
  const long = (inner: string) =>
    `{"jsonrpc":"2.0","method":"update","params":{"a":${inner}},"pad":"${'x'.repeat(70_000)}","id":1}`
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test('is taken as it is, whatever brackets its texts hold', async () => {
    for (const inner of [
      nested(500),
      '[[]],'.repeat(2_000).concat('[]'),
      `"${'[{'.repeat(1_000)}"`,
      '"\\"[[[[\\\\"',
      '"\\\\\\"[["',
    ]) {
      const text = long(inner.includes(',[') ? `[${inner}]` : inner)
      expect(JSON.parse(text)).toBeDefined()
      expect(await answerTo(text)).toMatchObject({ result: 'update' })
    }
  })

  test('that is nested beyond reason is refused before it is parsed', async () => {
    expect(await answerTo(long(nested(600)))).toEqual(failure(-32600))
    for (const text of [
      '['.repeat(4_000_000),
      nested(2_000_000),
      '{"a":'.repeat(800_000),
      `["${'\\'.repeat(1_000_000)}",${nested(1_000_000)}]`,
    ]) {
      const before = process.cpuUsage()
      expect(await answerTo(text)).toEqual(failure(-32600))
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500)
    }
  })
})

test('a body of more values than any batch of evidence needs is refused before it is parsed', async () => {
  const body = (entry: string, count: number) =>
    `{"jsonrpc":"2.0","method":"update","params":{"events":[${Array(count).fill(entry).join(',')}]},"id":1}`
  // 10 000 events of 40 members each.
  const event = `{${Array.from({ length: 40 }, (_, at) => `"member_${at}":"a, [b] {c}"`).join(',')}}`
  expect(await answerTo(body(event, 10_000))).toMatchObject({ result: 'update' })
  for (const entry of ['1', '{}', '[]', '{"a":{}}', '"",0'])
    expect(await answerTo(body(entry, 500_000))).toMatchObject({
      error: {
        code: -32600,
        message: 'Invalid Request: the body contains more than 500000 values; send it in parts',
      },
    })
})

test('the answer to a batch is bounded: what does not fit is an error of its entry, and what follows is not called', async () => {
  const called: string[] = []
  const { signal } = new AbortController()
  const exchange = { caller: { agent: 'a', scopes: new Set<never>() }, signal, newRequestId: () => 'r', take: () => 0 }
  const dispatch = async ({ method }: { method: string }) => {
    called.push(method)
    return 'x'.repeat(method === 'long' ? 900 : 10)
  }
  const text = JSON.stringify(
    ['short', 'long', 'long', 'short', 'note'].map((method, id) => ({
      jsonrpc: '2.0',
      method,
      ...(method !== 'note' && { id }),
    })),
  )
  const { body } = await answer(Buffer.from(text), exchange, dispatch, 1_200)
  const answers = JSON.parse([...body!].join('')) as { id: number; result?: string; error?: { message: string } }[]
  expect(answers.map(({ id, result }) => [id, result?.length])).toEqual([
    [0, 10],
    [1, 900],
    [2, undefined],
    [3, undefined],
  ])
  expect(answers.slice(2).map(({ error }) => error?.message.split(':')[0])).toEqual([
    expect.stringContaining('This entry was called; with its result'),
    expect.stringContaining('This entry was not called'),
  ])
  expect(called).toEqual(['short', 'long', 'long'])
})

test('between the entries of a batch other work has its turn', async () => {
  const order: string[] = []
  const { signal } = new AbortController()
  const exchange = { caller: { agent: 'a', scopes: new Set<never>() }, signal, newRequestId: () => 'r', take: () => 0 }
  const text = JSON.stringify(Array.from({ length: 3 }, (_, id) => ({ jsonrpc: '2.0', method: 'x', id })))
  const batch = answer(Buffer.from(text), exchange, async () => order.push('entry'))
  setTimeout(() => order.push('other'), 0)
  const end = performance.now() + 5
  while (performance.now() < end);
  await batch
  expect(order.indexOf('other')).toBeLessThan(order.lastIndexOf('entry'))
})

test('what is not meant for the caller is not answered as an error of his', async () => {
  const { signal } = new AbortController()
  const exchange = { caller: { agent: 'a', scopes: new Set<never>() }, signal, newRequestId: () => 'r', take: () => 0 }
  const broken = answer(Buffer.from('{"jsonrpc":"2.0","method":"x","id":1}'), exchange, async () => {
    throw new Error('a defect')
  })
  await expect(broken).rejects.toThrow('a defect')
})
