/** What the local embedder promises beyond the port: bounded cost, priority, and life after the death of its thread. */

import { heapStats } from 'bun:jsc'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { type LocalOptions, openLocalEmbedder } from '../../../src/drivers/embedder/local/driver.ts'
import { assets, openModel, pool, readAsset } from '../../../src/drivers/embedder/local/minilm.ts'
import { libraries, openRuntime } from '../../../src/drivers/embedder/local/runtime.ts'

// WebAssembly is slow on a busy machine.
setDefaultTimeout(120_000)

const never = new AbortController().signal
const distance = (a: Float32Array, b: Float32Array) => 1 - a.reduce((sum, value, i) => sum + value * b[i]!, 0)

/** What the call threw. (`expect(…).rejects` without await would hold up the event loop.) */
const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error) => error,
  )

type Line = Parameters<NonNullable<LocalOptions['log']>>
const logTo = (lines: Line[]) => (level: Line[0], message: string, data?: Line[2]) => {
  lines.push([level, message, data])
}

describe('local embedder', () => {
  let embedder: Embedder
  const lines: Line[] = []
  beforeAll(async () => {
    embedder = await openLocalEmbedder({ log: logTo(lines) })
  })
  afterAll(() => embedder.close())
  const one = async (text: string, kind: 'document' | 'query' = 'document') =>
    (await embedder.embed([text], kind, never))[0]!

  test('says which build computes', () => {
    expect(lines).toEqual([['info', 'The local embedder is ready', { runtime: 'native', load_ms: expect.any(Number) }]])
  })

  test('gives the vector that the model has elsewhere', async () => {
    // The scores of the full-precision model in the documents of sentence-transformers; 8 bits cost some of that.
    for (const [a, b, score] of [
      ['The cat sits outside', 'The dog plays in the garden', 0.2838],
      ['A man is playing guitar', 'A woman watches TV', -0.0327],
      ['The new movie is awesome', 'The new movie is so great', 0.8939],
    ] as const) {
      expect(Math.abs(1 - distance(await one(a), await one(b)) - score)).toBeLessThan(0.03)
    }
  })

  test('takes 200 000 characters of anything', async () => {
    for (const text of [
      'x'.repeat(200_000),
      ' '.repeat(200_000),
      `${'['.repeat(100_000)}${'漢'.repeat(100_000)}`,
      `A ${'word '.repeat(40_000)}`,
    ])
      expect(Math.hypot(...(await one(text)))).toBeCloseTo(1, 3)
  })

  test('sees the first 256 tokens, blanks aside', async () => {
    const start = 'one two three four five six seven '.repeat(40)
    expect(await one(`${start}and then the ending`)).toEqual(await one(`${start}but quite another ending`))
    expect(await one('a\n\n   b')).toEqual(await one(' a b '))
  })

  test('answers a query before the documents that wait', async () => {
    const order: string[] = []
    const texts = Array.from({ length: 60 }, (_, i) => `Reindexed document ${i} ${Math.random()}`)
    const documents = embedder.embed(texts, 'document', never).then(() => order.push('documents'))
    const query = one(`Which one? ${Math.random()}`, 'query').then(() => order.push('query'))
    await Promise.all([documents, query])
    expect(order).toEqual(['query', 'documents'])
  })

  test('drops the queued texts of an aborted call at once', async () => {
    const controller = new AbortController()
    const texts = Array.from({ length: 5_000 }, (_, i) => `Dropped ${i} ${Math.random()}`)
    const call = failure(embedder.embed(texts, 'document', controller.signal))
    const reason = new Error('enough')
    setTimeout(() => controller.abort(reason), 20)
    expect(await call).toBe(reason)
    const after = one(`After the abort ${Math.random()}`).then(() => 'after')
    // All that was dropped would take half a minute.
    expect(await Promise.race([after, Bun.sleep(10_000).then(() => 'late')])).toBe('after')
  })

  test('does not hold up its caller', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    await embedder.embed(
      Array.from({ length: 100 }, (_, i) => `${i} ${'some words of a longer text '.repeat(20)}`),
      'document',
      never,
    )
    clearInterval(timer)
    expect(turns).toBeGreaterThan(100)
  })

  test('knows the words of its model, and no misspelt ones', async () => {
    const words = ['summer', 'considered', 'paris', 'sumer', 'consdiered', 'kubectl', '']
    const known = await Promise.all(words.map((word) => embedder.knowsWord!(word)))
    expect(words.filter((_, at) => known[at])).toEqual(['summer', 'considered', 'paris'])
  })

  test('both builds give nearly the same vectors', async () => {
    const wasm = await openLocalEmbedder({ runtime: 'wasm' })
    const texts = ['We chose SQLite over PostgreSQL', 'Roll back when the error rate passes 2 %', '']
    try {
      const there = await wasm.embed(texts, 'document', never)
      for (const [i, here] of (await embedder.embed(texts, 'document', never)).entries()) {
        expect(distance(here, there[i]!)).toBeLessThan(0.005)
      }
      expect(wasm.id).toBe(embedder.id)
    } finally {
      await wasm.close()
    }
  })
})

describe('the files of the local model', () => {
  test('are not kept beside the model that was made of them', async () => {
    const held = () => {
      Bun.gc(true)
      return heapStats().extraMemorySize
    }
    const before = held()
    const model = await openModel('native')
    expect(held() - before).toBeLessThan(Bun.file(assets.model.path).size / 2)
    expect(await model.embed('still there')).toHaveLength(768)
  })

  test('are refused when changed', async () => {
    const path = `${import.meta.dir}/../../../package.json`
    await expect(readAsset({ ...assets.model, path })).rejects.toThrow(/model_quantized.onnx has SHA-256/)
    await expect(readAsset({ ...assets.model, path: '/nowhere' })).rejects.toThrow('ENOENT')
  })

  test('run as WebAssembly when the native build does not load, and say why', async () => {
    const native = () => Promise.reject(new Error('no such library'))
    const model = await readAsset(assets.model)
    const runtime = await openRuntime(model, undefined, { ...libraries, native })
    expect(runtime).toMatchObject({ name: 'wasm', fallback: 'no such library' })
    expect((await runtime.run([101, 7592, 102])).length).toBe(3 * 384)
    await expect(openRuntime(model, 'native', { ...libraries, native })).rejects.toThrow('no such library')
  })
})

test('a vector leaves nothing of the hidden layer behind', () => {
  const hidden = new Float32Array(2 * 384).fill(2)
  expect(pool(hidden, 2)[383]).toBeCloseTo(1 / Math.sqrt(384), 6)
  expect(hidden).toHaveLength(0)
})

describe('the thread of the local embedder', () => {
  /** Answers like the real one, except to three texts. */
  const script = `self.onmessage = ({ data: { id, request } }) => {
    if ('open' in request) postMessage({ id, result: { name: 'native' } })
    else if (request.text === 'exit') process.exit(1)
    else if (request.text === 'throw') setTimeout(() => { throw new Error('from within') }, 0)
    else if (request.text === 'refuse') postMessage({ id, error: 'too odd' })
    else if (request.text !== 'hang') postMessage({ id, result: new Float32Array(768).fill(1 / Math.sqrt(768)) })
  }`
  const stub = (source: string) => () =>
    new Worker(URL.createObjectURL(new Blob([source], { type: 'application/javascript' })))

  for (const [text, message] of [
    ['exit', /lost its thread/],
    ['throw', /lost its thread.*from within/],
    ['refuse', /failed on a text: too odd/],
  ] as const) {
    test(`that comes to "${text}" fails that text alone`, async () => {
      const embedder = await openLocalEmbedder({}, stub(script))
      const error = await failure(embedder.embed([text], 'document', never))
      expect(error).toBeInstanceOf(StorageError)
      expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(message) })
      expect(await embedder.embed(['a', 'b'], 'document', never)).toHaveLength(2)
      await embedder.close()
    })
  }

  test('computes a text once that is asked for several times at once', async () => {
    const posted: unknown[] = []
    const embedder = await openLocalEmbedder({}, () => {
      const worker = stub(script)()
      const post = worker.postMessage.bind(worker)
      worker.postMessage = (message: unknown) => {
        posted.push(message)
        post(message)
      }
      return worker
    })
    const [[a], [b]] = await Promise.all([1, 2].map(() => embedder.embed(['same', 'same'], 'document', never)))
    expect(posted).toHaveLength(2)
    expect(a).toEqual(b!)
    expect(a).not.toBe(b)
    await embedder.close()
  })

  test('gets help while many texts wait, for as long as they do', async () => {
    const ended: Promise<unknown>[] = []
    const embedder = await openLocalEmbedder(
      {},
      () => {
        const worker = stub(script)()
        ended.push(new Promise((resolve) => worker.addEventListener('close', resolve)))
        return worker
      },
      { most: 2, idle_ms: 1 },
    )
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`)
    await embedder.embed(texts.slice(0, 20), 'document', never)
    expect(ended).toHaveLength(1)
    const many = embedder.embed(texts, 'document', never)
    await embedder.embed(texts, 'document', never)
    expect(ended).toHaveLength(2)
    await ended[1]
    expect(await many).toHaveLength(100)
    expect(await embedder.embed(['after'], 'document', never)).toHaveLength(1)
    expect(ended).toHaveLength(2)
    await embedder.close()
  })

  test('answers a few questions at once without help, and many with it', async () => {
    let started = 0
    const counted = () => {
      started++
      return stub(script)()
    }
    const embedder = await openLocalEmbedder({}, counted, { most: 2, idle_ms: 60_000 })
    const ask = (count: number) =>
      Promise.all(Array.from({ length: count }, () => embedder.embed([`${Math.random()}`], 'query', never)))
    for (let round = 0; round < 40; round++) await ask(8)
    expect(started).toBe(1)
    for (let round = 0; round < 4; round++) await ask(40)
    expect(started).toBe(2)
    await embedder.close()
  })

  test('shares the texts of a call with its help by their length', async () => {
    const texts: string[][] = []
    const echo = `self.onmessage = ({ data: { id, request } }) =>
      'open' in request
        ? postMessage({ id, result: { name: 'native' } })
        : setTimeout(() => postMessage({ id, result: new Float32Array([request.text.length]) }), 5)`
    const embedder = await openLocalEmbedder(
      {},
      () => {
        const worker = stub(echo)()
        const post = worker.postMessage.bind(worker)
        const own: string[] = []
        texts.push(own)
        worker.postMessage = (message: { request: { text?: string } }) => {
          if (message.request.text !== undefined) own.push(message.request.text)
          post(message)
        }
        return worker
      },
      { most: 2, idle_ms: 60_000 },
    )
    const seldom = await embedder.embed(['some', 'of', 'them'], 'document', never)
    expect(seldom.map(([length]) => length)).toEqual([4, 2, 4])
    expect(texts).toHaveLength(1)
    while (!texts[1]?.length)
      await embedder.embed(
        Array.from({ length: 12 }, () => `${Math.random()}`),
        'document',
        never,
      )
    for (const own of texts) own.length = 0
    const long = 'x'.repeat(100)
    const vectors = await embedder.embed(['short', 'shorter', long], 'document', never)
    expect(texts.toSorted(([a], [b]) => a!.length - b!.length)).toEqual([['shorter', 'short'], [long]])
    expect(vectors.map(([length]) => length)).toEqual([5, 7, 100])
    await embedder.close()
  })

  test('works alone where the second does not start, and says so', async () => {
    const lines: Line[] = []
    let started = 0
    const embedder = await openLocalEmbedder(
      { log: logTo(lines) },
      () =>
        started++ === 0
          ? stub(script)()
          : stub(`self.onmessage = ({ data: { id } }) => postMessage({ id, error: 'no memory' })`)(),
      { most: 2, idle_ms: 1 },
    )
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`)
    expect(await embedder.embed(texts, 'document', never)).toHaveLength(100)
    while (lines.length < 2) await Bun.sleep(1)
    expect(lines[1]).toEqual(['warn', expect.stringContaining('one thread'), expect.anything()])
    await embedder.close()
  })

  test('gives the vectors that one thread gives, bit for bit', async () => {
    const texts = Array.from({ length: 60 }, (_, at) => `Decision ${at}: ${'keep it simple '.repeat(at % 7)}`)
    const [alone, helped] = await Promise.all(
      [1, 2].map(async (most) => {
        const embedder = await openLocalEmbedder({}, undefined, { most, idle_ms: 60_000 })
        const vectors = await embedder.embed(texts, 'document', never)
        await embedder.close()
        return vectors
      }),
    )
    expect(helped).toEqual(alone!)
  })

  test('is started again for the texts that waited', async () => {
    const lines: Line[] = []
    const embedder = await openLocalEmbedder({ log: logTo(lines) }, stub(script))
    const calls = ['exit', 'exit', 'waited', 'waited too'].map((text) => embedder.embed([text], 'document', never))
    const outcomes = (await Promise.allSettled(calls)).map(({ status }) => status)
    expect(outcomes).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
    expect(lines.map(([level]) => level)).toEqual(['info', 'warn', 'info'])
    await embedder.close()
  })

  test('is the real one, killed at work', async () => {
    let thread: Worker | undefined
    const url = new URL('../../../src/drivers/embedder/local/worker.ts', import.meta.url)
    const embedder = await openLocalEmbedder(
      {},
      () => {
        thread = new Worker(url)
        return thread
      },
      { most: 1, idle_ms: 0 },
    )
    const before = (await embedder.embed(['kept'], 'document', never))[0]!
    const texts = Array.from({ length: 50 }, (_, i) => `Killed ${i}`)
    const call = failure(embedder.embed(texts, 'document', never))
    thread!.terminate()
    expect(await call).toMatchObject({ kind: 'unavailable' })
    const after = (await embedder.embed(['kept', 'new'], 'document', never))[0]!
    expect(after).toEqual(before)
    await embedder.close()
  })

  test('that can not load its model fails the opening', async () => {
    const opening = failure(
      openLocalEmbedder({}, stub(`self.onmessage = ({ data: { id } }) => postMessage({ id, error: 'no file' })`)),
    )
    expect(await opening).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('no file') })
    const broken = failure(openLocalEmbedder({}, stub(`throw new Error('broken script')`)))
    expect(await broken).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('broken script') })
  })

  test('is reported when nobody waits for the opening, and again by the first text', async () => {
    const told = Promise.withResolvers<unknown>()
    const script = stub(`self.onmessage = ({ data: { id } }) => postMessage({ id, error: 'no file' })`)
    const embedder = await openLocalEmbedder({ failed: told.resolve }, script)
    expect(await told.promise).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('no file') })
    const call = failure(embedder.embed(['a'], 'document', never))
    expect(await call).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('no file') })
    await embedder.close()
  })

  test('leaves no call behind when it is closed', async () => {
    const embedder = await openLocalEmbedder({}, stub(script))
    const call = failure(embedder.embed(['hang'], 'document', never))
    await embedder.close()
    expect(await call).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('closed') })
  })
})
