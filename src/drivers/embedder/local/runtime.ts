/** What computes the model: onnxruntime's native build, or its WebAssembly build where that does not load. */

import type * as Onnx from 'onnxruntime-web'
import wasm from 'onnxruntime-web/ort-wasm-simd-threaded.wasm' with { type: 'file' }
import { messageOf } from '../../../core/log.ts'
import { graphOf, HIDDEN, TOKENS } from './graph.ts'
import type { Model } from './onnx.ts'

export type RuntimeName = 'native' | 'wasm'

export interface Runtime {
  name: RuntimeName
  /** Why the native build was not taken; absent when it was, or was not asked for. */
  fallback?: string
  /** The last hidden layer of one sequence of tokens: row after row, a row a token. */
  run(tokens: readonly number[]): Promise<Float32Array<ArrayBuffer>>
}

type Library = Pick<typeof Onnx, 'InferenceSession' | 'Tensor'>
export type Libraries = Record<RuntimeName, () => Promise<Library>>

export const libraries: Libraries = {
  native: async () => {
    await silenceTelemetry()
    return (await import('onnxruntime-node')) as unknown as Library
  },
  wasm: async () => {
    const library = await import('onnxruntime-web/wasm')
    // Given as bytes because a compiled binary has no address that the library could fetch.
    library.env.wasm.wasmBinary = await Bun.file(wasm).arrayBuffer()
    // More threads need a worker script beside the library, which a bundle does not have.
    library.env.wasm.numThreads = 1
    return library
  },
}

/**
 * @param file the model's
 * @param wanted takes this one or none; without it native is tried first
 * @throws Error what the last one tried threw
 */
export async function openRuntime(
  file: Uint8Array,
  wanted: RuntimeName | undefined,
  from: Libraries = libraries,
): Promise<Runtime> {
  const graph = graphOf(file)
  if (wanted) return open(wanted, graph, from)
  try {
    return await open('native', graph, from)
  } catch (error) {
    const fallback = messageOf(error)
    return { ...(await open('wasm', graph, from)), fallback }
  }
}

async function open(name: RuntimeName, { bytes, externalData }: Model, from: Libraries): Promise<Runtime> {
  const { InferenceSession, Tensor } = await from[name]()
  const session = await InferenceSession.create(bytes, {
    externalData,
    executionProviders: [name === 'native' ? 'cpu' : 'wasm'],
    // The operations of a short text are too small to share: a second thread costs CPU time, twice as much on busy cores, and saves none.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // A plan of the memory for each length of text: texts differ in length, so it takes memory and saves no time.
    enableMemPattern: false,
    logSeverityLevel: 3,
  })
  async function run(tokens: readonly number[]): Promise<Float32Array<ArrayBuffer>> {
    const output = await session.run({ [TOKENS]: new Tensor('int32', Int32Array.from(tokens), [1, tokens.length]) })
    return output[HIDDEN]!.data as Float32Array<ArrayBuffer>
  }
  // The first run is slow, and may be where a build that loads turns out not to work.
  await run([0])
  return { name, run }
}

/**
 * Turns off the telemetry that onnxruntime's native build sends from 1.29 on. Call it before the library is loaded: it reads the
 * variable in the C library, which does not see what is written to `process.env`.
 * @throws Error when the variable can't be set; the library must not be loaded then
 */
async function silenceTelemetry(): Promise<void> {
  const name = 'ORT_DISABLE_TELEMETRY'
  const { dlopen } = await import('bun:ffi')
  if (process.platform === 'win32') {
    const { symbols, close } = dlopen('ucrtbase.dll', { _putenv_s: { args: ['cstring', 'cstring'], returns: 'int' } })
    const status = symbols._putenv_s(Buffer.from(`${name}\0`), Buffer.from('1\0'))
    close()
    if (status !== 0) throw new Error(`can't set ${name}`)
    return
  }
  const library = process.platform === 'linux' ? 'libc.so.6' : 'libSystem.B.dylib'
  const { symbols } = dlopen(library, { setenv: { args: ['cstring', 'cstring', 'int'], returns: 'int' } })
  if (symbols.setenv(Buffer.from(`${name}\0`), Buffer.from('1\0'), 1) !== 0) throw new Error(`can't set ${name}`)
}
