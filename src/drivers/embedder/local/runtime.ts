/** The runtime of the model: onnxruntime's native build, or its WebAssembly build if the native one does not load. */

import type * as Onnx from 'onnxruntime-web'
import wasm from 'onnxruntime-web/ort-wasm-simd-threaded.wasm' with { type: 'file' }
import { messageOf } from '../../../core/log.ts'

export type RuntimeName = 'native' | 'wasm'

export interface Runtime {
  name: RuntimeName
  /** Why the native build is not used; absent if it is, or if it was not asked for. */
  fallback?: string
  /** The last hidden layer for one sequence of tokens: one row for each token, concatenated. */
  run(tokens: readonly number[]): Promise<Float32Array<ArrayBuffer>>
}

type Library = Pick<typeof Onnx, 'InferenceSession' | 'Tensor'>
export type Libraries = Record<RuntimeName, () => Promise<Library>>

export const libraries: Libraries = {
  // Version 1.27: from 1.29 on the library sends telemetry, which only its C environment can turn off.
  native: async () => (await import('onnxruntime-node')) as unknown as Library,
  wasm: async () => {
    const library = await import('onnxruntime-web/wasm')
    // Passed as bytes, because the library can't fetch a file of a compiled binary.
    library.env.wasm.wasmBinary = await Bun.file(wasm).arrayBuffer()
    // More threads would need a worker script beside the library, which a bundle does not have.
    library.env.wasm.numThreads = 1
    return library
  },
}

/**
 * @param file the model's file
 * @param wanted the only runtime to try; by default native, then wasm
 * @throws Error of the last runtime tried
 */
export async function openRuntime(
  file: Uint8Array,
  wanted: RuntimeName | undefined,
  from: Libraries = libraries,
): Promise<Runtime> {
  if (wanted) return open(wanted, file, from)
  try {
    return await open('native', file, from)
  } catch (error) {
    const fallback = messageOf(error)
    return { ...(await open('wasm', file, from)), fallback }
  }
}

async function open(name: RuntimeName, file: Uint8Array, from: Libraries): Promise<Runtime> {
  const { InferenceSession, Tensor } = await from[name]()
  const session = await InferenceSession.create(file, {
    executionProviders: [name === 'native' ? 'cpu' : 'wasm'],
    // The operations of a short text are too small to split: a second thread costs CPU time, twice as much on busy cores, and saves no time.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // This would plan memory for each length of text. Texts differ in length, so it would take memory and save no time.
    enableMemPattern: false,
    logSeverityLevel: 3,
  })
  async function run(tokens: readonly number[]): Promise<Float32Array<ArrayBuffer>> {
    const shape = [1, tokens.length]
    const constant = (value: bigint) => new Tensor('int64', new BigInt64Array(tokens.length).fill(value), shape)
    const { last_hidden_state } = await session.run({
      input_ids: new Tensor('int64', BigInt64Array.from(tokens, BigInt), shape),
      // One text a run: no padding to mask, and a single part.
      attention_mask: constant(1n),
      token_type_ids: constant(0n),
    })
    return last_hidden_state!.data as Float32Array<ArrayBuffer>
  }
  // The first run is slow, and a build that loads may fail only when it runs.
  await run([0])
  return { name, run }
}
