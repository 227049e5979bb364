/** What the remote embedders do with servers that are slow, busy, wrong or indiscreet. */

import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { openHuggingfaceEmbedder } from '../../../src/drivers/embedder/huggingface.ts'
import { openOpenaiEmbedder } from '../../../src/drivers/embedder/openai.ts'
import type { RemoteLimits } from '../../../src/drivers/embedder/shared/remote.ts'
import { traitsOf } from '../../../src/drivers/embedder/shared/remote.ts'
import { serveOpenai, serveTei, type TestServer, type Trouble } from '../../support/embedder-servers.ts'

const never = new AbortController().signal
const failure = (call: Promise<unknown>): Promise<StorageError> =>
  call.then(
    () => {
      throw new Error('it went through')
    },
    (error) => error,
  )
const quick: RemoteLimits = { timeout_ms: 10_000, backoff_ms: 10 }
const key = 'sk-very/secret+key="42"'

const opened: { close?(): Promise<void>; stop?(): Promise<void> }[] = []
const keep = <T extends (typeof opened)[number]>(one: T): T => {
  opened.push(one)
  return one
}
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await (one.close ?? one.stop)?.()
})

type Options = RemoteLimits & { api_key?: string; model?: string }
const drivers: [string, (t?: Trouble, n?: number) => TestServer, (url: string, o?: Options) => Promise<Embedder>][] = [
  ['huggingface', serveTei, (url, o) => openHuggingfaceEmbedder({ ...quick, url: `${url}/embed`, ...o })],
  ['openai', serveOpenai, (url, o) => openOpenaiEmbedder({ ...quick, url, model: 'test-model', ...o })],
]

for (const [driver, serve, open] of drivers) {
  describe(`${driver} embedder`, () => {
    /** Trouble begins after the probe. */
    const start = async (trouble: Trouble, options?: Options) => {
      const server = keep(serve((before, seen) => (before === 0 ? undefined : trouble(before - 1, seen))))
      return { server, embedder: keep(await open(server.url, options)) }
    }
    const busy = (headers = {}) => Response.json({ error: 'Model is loading' }, { status: 503, headers })

    test('tries again when the server is busy', async () => {
      const { server, embedder } = await start((before) => (before < 2 ? busy() : undefined))
      expect(await embedder.embed(['a', 'b'], 'document', never)).toHaveLength(2)
      expect(server.seen).toHaveLength(4)
    })

    test('fails after the last retry, with the message of the server', async () => {
      const { server, embedder } = await start(() => busy(), { retries: 2 })
      const error = await failure(embedder.embed(['a'], 'document', never))
      expect(error).toBeInstanceOf(StorageError)
      expect(error.kind).toBe('unavailable')
      expect(error.message).toMatch(/answered 503: .*Model is loading/)
      expect(error.message).toContain(new URL(server.url).host)
      expect(server.seen).toHaveLength(4)
    })

    test('tries again after a connection that breaks', async () => {
      const { server, embedder } = await start((before) => {
        if (before > 0) return
        return new Response(
          new ReadableStream({
            async pull(controller) {
              controller.enqueue('[[0.1,')
              await Bun.sleep(5)
              controller.error(new Error('broken'))
            },
          }),
          { headers: { 'content-type': 'application/json' } },
        )
      })
      expect(await embedder.embed(['a'], 'document', never)).toHaveLength(1)
      expect(server.seen).toHaveLength(3)
    })

    test('waits as long as the server asks for', async () => {
      const { embedder } = await start((before) => (before === 0 ? busy({ 'retry-after': '1' }) : undefined))
      const began = performance.now()
      await embedder.embed(['a'], 'document', never)
      expect(performance.now() - began).toBeGreaterThan(950)
    })

    test('does not wait when the server asks for too long, nor retry what is refused', async () => {
      for (const answer of [
        () => busy({ 'retry-after': '3600' }),
        () => busy({ 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }),
        () => Response.json({ error: 'too long' }, { status: 413 }),
        () => new Response(null, { status: 308, headers: { location: 'http://127.0.0.1:1/' } }),
      ]) {
        const { server, embedder } = await start(answer)
        expect(await failure(embedder.embed(['a'], 'document', never))).toMatchObject({ kind: 'unavailable' })
        expect(server.seen).toHaveLength(2)
      }
    })

    test('does not wait for ever', async () => {
      const silent = () => new Promise<Response>(() => {})
      const halting = () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue('[['),
          }),
          { headers: { 'content-type': 'application/json' } },
        )
      for (const trouble of [silent, halting]) {
        const { server, embedder } = await start(trouble, { timeout_ms: 300 })
        const error = await failure(embedder.embed(['a'], 'document', never))
        expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('within 300 ms') })
        expect(server.seen).toHaveLength(2)
      }
    })

    test('stops at once when the caller does, while it waits and while it backs off', async () => {
      const silent = () => new Promise<Response>(() => {})
      for (const trouble of [silent, () => busy({ 'retry-after': '5' })]) {
        const { embedder } = await start(trouble)
        const controller = new AbortController()
        const reason = new Error('the caller left')
        setTimeout(() => controller.abort(reason), 50)
        const call = failure(embedder.embed(['a', 'b'], 'document', controller.signal))
        expect(await call).toBe(reason as StorageError)
      }
    })

    test('cancels the request of an aborted call, so that others can start', async () => {
      const silentOnce: Trouble = (before) => (before === 0 ? new Promise<Response>(() => {}) : undefined)
      const { server, embedder } = await start(silentOnce, { concurrency: 1 })
      const controller = new AbortController()
      const left = failure(embedder.embed(['a'], 'document', controller.signal))
      while (server.seen.length < 2) await Bun.sleep(1)
      controller.abort()
      await left
      expect(await embedder.embed(['b'], 'document', never)).toHaveLength(1)
    })

    test('names the model and the length when it is another', async () => {
      const server = keep(serve(undefined, 384))
      const error = await failure(open(server.url, { model: 'mini/model' }))
      expect(error).toBeInstanceOf(StorageError)
      expect(error.kind).toBe('invalid')
      expect(error.message).toMatch(/mini\/model .*384 dimensions; 768 are required/)
    })

    const json = { headers: { 'content-type': 'application/json' } }
    for (const [what, answer] of [
      ['cut JSON', () => new Response('[[0.1, 0.', json)],
      ['a page', () => new Response('<html>Welcome</html>', { headers: { 'content-type': 'text/html' } })],
      ['null', () => Response.json(null)],
      ['no vectors', () => Response.json(driver === 'openai' ? { data: [] } : [])],
      ['words', () => Response.json(driver === 'openai' ? { data: [{ index: 0, embedding: ['a'] }] } : [['a']])],
      [
        'zeros',
        () => {
          const embedding = new Array(768).fill(0)
          return Response.json(driver === 'openai' ? { data: [{ index: 0, embedding }] } : [embedding])
        },
      ],
      ['a strange index', () => Response.json({ data: [{ index: 'length', embedding: [1] }] })],
    ] as const) {
      test(`is unavailable when it is answered ${what}`, async () => {
        const { embedder } = await start(answer)
        const error = await failure(embedder.embed(['a'], 'document', never))
        expect(error).toBeInstanceOf(StorageError)
        expect(error.message).toContain(driver)
        expect(error.kind).toBe(what === 'a strange index' && driver === 'openai' ? error.kind : 'unavailable')
      })
    }

    test('opens while the server is unreachable, and fails if the server refuses', async () => {
      const gone = serve()
      await gone.stop()
      const embedder = keep(await open(gone.url, { retries: 1 }))
      const error = await failure(embedder.embed(['a'], 'document', never))
      expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining("can't be reached") })
      const hanging = keep(serve(() => new Promise<Response>(() => {})))
      keep(await open(hanging.url, { timeout_ms: 300 }))
      const strict = keep(serve(() => Response.json({ error: 'Invalid token' }, { status: 401 })))
      expect((await failure(open(strict.url))).message).toMatch(/answered 401: .*Invalid token/)
    })

    test('sends the key, and shows it to nobody', async () => {
      const bodies = [
        (sent: string) => JSON.stringify({ error: `Unknown ${sent}`, sent }),
        (sent: string) => encodeURIComponent(sent),
        (sent: string) => btoa(sent),
        // The key may be at the point where a message is truncated.
        ...Array.from({ length: 5 }, (_, i) => (sent: string) => `${'x'.repeat(270 + i * 8)} ${sent} ${sent}`),
      ]
      const trouble: Trouble = (before, { headers }) =>
        new Response(bodies[before]!(headers.get('authorization')!.replace('Bearer ', '')), { status: 400 })
      const { server, embedder } = await start(trouble, { api_key: key })
      expect(server.seen[0]!.headers.get('authorization')).toBe(`Bearer ${key}`)
      for (const _ of bodies) {
        const error = await failure(embedder.embed(['a'], 'document', never))
        expect(error.message).toContain('answered 400')
        const shown = [
          Bun.inspect(error),
          error.stack,
          JSON.stringify(error),
          Bun.inspect(embedder),
          embedder.id,
        ].join()
        for (const piece of [key.slice(0, 6), encodeURIComponent(key).slice(7, 13), btoa(key).slice(0, 6)])
          expect(shown).not.toContain(piece)
      }
    })

    test('refuses a key or an address that would fail in a telling way', async () => {
      const server = keep(serve())
      const bad = await failure(open(server.url, { api_key: 'line\nbreak-secret' }))
      expect(bad).toMatchObject({ kind: 'invalid' })
      expect(bad.message).not.toContain('secret')
      const withUser = await failure(open(server.url.replace('//', '//user:secret@')))
      expect(withUser).toMatchObject({ kind: 'invalid' })
      expect(withUser.message).not.toContain('secret')
      expect(await failure(open('ftp://127.0.0.1'))).toMatchObject({ kind: 'invalid' })
    })

    test('keeps to its limits of requests at once and texts in one', async () => {
      let now = 0
      let most = 0
      const three = Promise.withResolvers<void>()
      const count: Trouble = async () => {
        most = Math.max(most, ++now)
        if (now === 3) three.resolve()
        // None is answered before as many are there as may be, and more would come meanwhile.
        await three.promise
        await Bun.sleep(10)
        now--
        return undefined
      }
      const { server, embedder } = await start(count, { concurrency: 3, batch_size: 5, max_chars: 100 })
      const texts = Array.from({ length: 43 }, (_, i) => `${i} ${'long '.repeat(100)}`)
      expect(await embedder.embed(texts, 'document', never)).toHaveLength(43)
      expect(most).toBe(3)
      expect(server.seen).toHaveLength(1 + 9)
      for (const { texts } of server.seen) {
        expect(texts.length).toBeLessThanOrEqual(5)
        for (const text of texts) expect(text.length).toBeLessThanOrEqual(100)
      }
    })

    test('writes the prefixes of the model, and a dot for nothing', async () => {
      const { server, embedder } = await start(() => undefined, { model: 'nomic-embed-text:v1.5' })
      await embedder.embed(['why?', ''], 'query', never)
      await embedder.embed(['because', ' '], 'document', never)
      expect(server.seen.slice(1).map(({ texts }) => texts)).toEqual([
        ['search_query: why?', 'search_query: .'],
        ['search_document: because', 'search_document: .'],
      ])
    })
  })
}

describe('the protocol', () => {
  test('openai: every form of the address, and the length where a model can be asked', async () => {
    const server = keep(serveOpenai())
    for (const path of ['', '/', '/v1', '/v1/', '/v1/embeddings']) {
      keep(await openOpenaiEmbedder({ model: 'some-model', url: server.url + path }))
      expect(server.seen.at(-1)).toMatchObject({ path: '/v1/embeddings', body: { model: 'some-model', input: ['.'] } })
    }
    expect(server.seen.at(-1)!.body).not.toHaveProperty('dimensions')
    const embedder = keep(await openOpenaiEmbedder({ model: 'text-embedding-3-small', url: `${server.url}/v1` }))
    expect(server.seen.at(-1)!.body).toMatchObject({ dimensions: 768 })
    expect(embedder.id).toBe(`openai/text-embedding-3-small@${new URL(server.url).host}/v1/embeddings`)
  })

  test('huggingface: one vector alone, and cutting left to the server', async () => {
    const bare: Trouble = () => Response.json([1, ...new Array(767).fill(0)])
    const server = keep(serveTei(bare))
    const embedder = keep(await openHuggingfaceEmbedder({ url: `${server.url}/embed` }))
    expect((await embedder.embed(['a'], 'document', never))[0]![0]).toBe(1)
    expect(server.seen[0]).toMatchObject({ path: '/embed', body: { truncate: true } })
    expect(embedder.id).toBe(`huggingface/unnamed@${new URL(server.url).host}/embed`)
  })

  test('huggingface: hosted inference of the usual model', async () => {
    const server = keep(serveTei())
    const asked: string[] = []
    const real = globalThis.fetch
    const spy = spyOn(globalThis, 'fetch').mockImplementation((async (input: string, init: RequestInit) => {
      asked.push(`${init.method ?? 'GET'} ${input}`)
      if (input.startsWith('https://huggingface.co/api/models/')) {
        const mapping = { providerId: 'BAAI/bge-base-en-v1.5', status: 'live', task: 'feature-extraction' }
        return Response.json({ inferenceProviderMapping: { 'hf-inference': mapping } })
      }
      return real(server.url, init)
    }) as typeof fetch)
    try {
      const embedder = keep(await openHuggingfaceEmbedder({ api_key: 'hf_test' }))
      await embedder.embed(['why?'], 'query', never)
      expect(embedder.id).toBe('huggingface/BAAI/bge-base-en-v1.5')
      expect(embedder.noise_distance).toBe(traitsOf('BAAI/bge-base-en-v1.5').noise_distance)
    } finally {
      spy.mockRestore()
    }
    const model =
      'POST https://router.huggingface.co/hf-inference/models/BAAI/bge-base-en-v1.5/pipeline/feature-extraction'
    expect(asked.filter((line) => line.startsWith('POST'))).toEqual([model, model])
    expect(server.seen.at(-1)!.texts).toEqual(['Represent this sentence for searching relevant passages: why?'])
    expect(server.seen.at(-1)!.headers.get('authorization')).toBe('Bearer hf_test')
  })

  test('a stated noise distance goes before the assumed one', async () => {
    const server = keep(serveOpenai())
    const embedder = keep(await openOpenaiEmbedder({ model: 'x', url: server.url, noise_distance: 0.3 }))
    expect(embedder.noise_distance).toBe(0.3)
  })
})
