/** The scans: a WebAssembly SIMD module of three functions, assembled here so that the build needs no further file or tool. */
import { StorageError } from '../../../../sdk/storage/errors.ts'

/**
 * A vector is stored as numbers of 24 bits, which are as exact as floats of 32: `scale · (65 536·high + low)`. Its high bytes are what all
 * rows are compared by; of the few that can be among the nearest the low halves are read too. All addresses are bytes in the shared memory.
 * Vectors are padded with zeros to whole steps of 16 numbers.
 */
export interface Kernel {
  /** Stores the vector at `source`, f32 each, in a row; a vector that is not finite gives a header that is not. */
  pack(source: number, row: number, low: number, steps: number): void
  /**
   * Writes a bound from above of the dot product of the query with each of `count` rows to `out`, f32 each. `list` has their addresses.
   * The query is i16 each, times `unit`; `norm` is its length, and `error` how far it is from the one that is meant.
   */
  bound(
    query: number,
    list: number,
    count: number,
    out: number,
    steps: number,
    unit: number,
    norm: number,
    error: number,
  ): void
  /** Writes the dot product of the query, f32 each, with each of these rows. */
  dots(query: number, list: number, count: number, out: number, steps: number): void
}

/** Numbers in a step: rows and queries are padded to whole ones. */
export const STEP = 16
/** Before its high bytes a row has its scale, the length of what the low halves add, its own length (f32 each), and where its low halves are (u32). */
export const HEADER_BYTES = 16
/** What a high byte may hold. */
export const LARGEST_HIGH = 127

/** Instantiates the kernel over a memory. Self-contained, because the worker runs a copy of its text. */
export function bindKernel(code: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): Kernel {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } })
  return instance.exports as unknown as Kernel
}

type Bound = Parameters<Kernel['bound']>

export interface ScanWorker {
  /** One at a time. @throws StorageError `unavailable` when the worker died */
  bound(...args: Bound): Promise<void>
  close(): void
}

/** Runs the kernel in a worker over the same memory, so that a long scan does not block the process. */
export function startScanWorker(code: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): ScanWorker {
  // The text of two functions of ours: a worker file would have to be named in every build of the binary.
  const text = `const bindKernel = ${bindKernel}; (${main})(bindKernel)`
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  const worker = new Worker(url) as Worker & { ref(): void; unref(): void }
  let waiting: PromiseWithResolvers<void> | null = null
  let failure: StorageError | null = null
  worker.unref()
  worker.onmessage = () => {
    worker.unref()
    waiting?.resolve()
  }
  worker.onerror = (event) => {
    failure = new StorageError('unavailable', `The scan worker failed: ${event.message}`)
    waiting?.reject(failure)
  }
  worker.postMessage({ code, memory })
  return {
    bound(...args) {
      if (failure) return Promise.reject(failure)
      waiting = Promise.withResolvers()
      worker.ref()
      worker.postMessage(args)
      return waiting.promise
    },
    close() {
      failure ??= new StorageError('unavailable', 'The index is closed')
      waiting?.reject(failure)
      worker.terminate()
      URL.revokeObjectURL(url)
    },
  }
}

/** Everything that runs in the worker; uses nothing from outside but its argument. */
function main(bind: typeof bindKernel) {
  let kernel: Kernel | null = null
  self.onmessage = ({ data }: MessageEvent) => {
    if (kernel) {
      kernel.bound(...(data as Bound))
      postMessage(null)
    } else kernel = bind(data.code, data.memory)
  }
}
