/** Servers that speak the protocols of the remote embedders, over the vectors of the hash embedder. */

import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'

export interface Seen {
  texts: string[]
  body: Record<string, unknown>
  headers: Headers
  path: string
}

export interface TestServer {
  url: string
  /** Every request, the probe of the opening included. */
  seen: Seen[]
  stop(): Promise<void>
}

/** What a server does instead of answering. It is asked before each answer, with the number of requests before this one. */
export type Trouble = (before: number, seen: Seen) => Response | undefined | Promise<Response | undefined>

const hash = await openHashEmbedder()

/** Not of length 1, as some servers leave them. */
async function vectors(texts: string[], length = 768): Promise<number[][]> {
  const made = await hash.embed(texts, 'document', new AbortController().signal)
  return made.map((vector) => Array.from({ length }, (_, i) => (vector[i] ?? 0) * 3))
}

function serve(trouble: Trouble, answer: (texts: string[]) => Promise<Response>): TestServer {
  const seen: Seen[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    // A server that never answers would be cut off.
    idleTimeout: 0,
    development: false,
    async fetch(request) {
      const body = request.method === 'POST' ? await request.json() : {}
      const texts = [body.inputs ?? body.input ?? []].flat()
      const one = { texts, body, headers: request.headers, path: new URL(request.url).pathname }
      seen.push(one)
      return (await trouble(seen.length - 1, one)) ?? answer(texts)
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, seen, stop: () => server.stop(true) }
}

/** As huggingface/text-embeddings-inference answers `POST /embed`. */
export const serveTei = (trouble: Trouble = () => undefined, length?: number): TestServer =>
  serve(trouble, async (texts) => Response.json(await vectors(texts, length)))

/** As `POST /v1/embeddings` answers, with the list in another order than asked. */
export const serveOpenai = (trouble: Trouble = () => undefined, length?: number): TestServer =>
  serve(trouble, async (texts) => {
    const data = (await vectors(texts, length)).map((embedding, index) => ({ object: 'embedding', index, embedding }))
    return Response.json({ object: 'list', data: data.reverse(), model: 'test', usage: { total_tokens: 1 } })
  })
