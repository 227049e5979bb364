/** Any server with `/v1/embeddings`: Ollama, vLLM, llama.cpp, OpenAI. */

import { DIMENSIONS, type Embedder } from '../../../sdk/storage/embedder.ts'
import { openRemote, type RemoteLimits, traitsOf } from './shared/remote.ts'
import { checkKey, checkUrl, request, secretsOf } from './shared/request.ts'

export interface OpenaiOptions extends RemoteLimits {
  /** Must return 768 dimensions. */
  model: string
  /** The address of the server, of its `/v1`, or of its embeddings. */
  url: string
  api_key?: string
}

/** @throws StorageError if the options are wrong, the server refuses, or the model returns another length */
export async function openOpenaiEmbedder(options: OpenaiOptions): Promise<Embedder> {
  const { model, api_key } = options
  checkKey('openai', api_key)
  const url = endpoint(checkUrl('openai', options.url))
  const traits = traitsOf(model)
  const at = `${url.host}${url.pathname}`
  const headers = { 'content-type': 'application/json', ...(api_key && { authorization: `Bearer ${api_key}` }) }
  return openRemote(
    {
      driver: 'openai',
      id: `openai/${model}@${at}`,
      place: `${model} at ${at}`,
      traits,
      secrets: secretsOf(api_key, url),
      async ask(texts, signal) {
        const body = { model, input: texts, ...(traits.ask_for_length && { dimensions: DIMENSIONS }) }
        const response = await request(url.href, { method: 'POST', headers, body: JSON.stringify(body) }, signal)
        return vectors(await response.json())
      },
    },
    options,
  )
}

function endpoint(url: URL): URL {
  const path = url.pathname.replace(/(?<!\/)\/+$/, '')
  if (/\/embeddings$/.test(path)) url.pathname = path
  else url.pathname = /\/v\d+$/.test(path) ? `${path}/embeddings` : `${path}/v1/embeddings`
  return url
}

/** The vectors in the order of their `index`, which may differ from the order of the list. */
function vectors(answer: unknown): unknown {
  const data = (answer as { data?: unknown } | null)?.data
  if (!Array.isArray(data)) return
  const placed: unknown[] = new Array(data.length).fill(undefined)
  for (const [i, item] of data.entries()) placed[item?.index in placed ? item.index : i] = item?.embedding
  return placed
}
