/** Hugging Face: its hosted inference, or your own text-embeddings-inference server. */

import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { openRemote, type RemoteLimits, traitsOf } from './shared/remote.ts'
import { checkKey, checkUrl, request, secretsOf } from './shared/request.ts'

export interface HuggingfaceOptions extends RemoteLimits {
  /** Must return 768 dimensions. With a `url` it only selects the prefixes of that server's model. [BAAI/bge-base-en-v1.5 if hosted] */
  model?: string
  /** The full address of your own server: `https://…/embed` for text-embeddings-inference. */
  url?: string
  api_key?: string
}

const HOSTED_MODEL = 'BAAI/bge-base-en-v1.5'

/** @throws StorageError if the options are wrong, the provider refuses, or the model returns another length */
export async function openHuggingfaceEmbedder(options: HuggingfaceOptions = {}): Promise<Embedder> {
  const { api_key } = options
  checkKey('huggingface', api_key)
  const url = options.url === undefined ? undefined : checkUrl('huggingface', options.url)
  const model = options.model ?? (url ? undefined : HOSTED_MODEL)
  const at = url ? `${url.host}${url.pathname}` : undefined
  const name = model ?? 'unnamed'
  const { InferenceClient } = await import('@huggingface/inference')
  const client = new InferenceClient(api_key, url && { endpointUrl: url.href })
  return openRemote(
    {
      driver: 'huggingface',
      id: `huggingface/${name}${at ? `@${at}` : ''}`,
      place: `${name} ${at ? `at ${at}` : 'in hosted inference'}`,
      traits: traitsOf(model ?? ''),
      secrets: secretsOf(api_key, url),
      async ask(texts, signal) {
        const answer = await client.featureExtraction(
          { model, inputs: texts, truncate: true, ...(url ? {} : { provider: 'hf-inference' }) },
          {
            // The library retries without a pause.
            retry_on_error: false,
            fetch: ((input, init) => request(String(input), init ?? {}, signal)) as typeof fetch,
          },
        )
        return texts.length === 1 && typeof answer[0] === 'number' ? [answer] : answer
      },
    },
    options,
  )
}
