/** The scans: a WebAssembly SIMD module of three functions, assembled at run time so that the build needs no further file or tool. */
import { StorageError } from '../../../../sdk/storage/errors.ts'

/**
 * A vector is stored as 24-bit numbers, which are as exact as 32-bit floats: `scale · (65 536·high + low)`. A scan reads only the high bytes;
 * the low halves are read only for the few rows that can be among the nearest. All addresses are byte offsets in the shared memory. Vectors
 * are padded with zeros to whole steps of 16 numbers.
 */
export interface Kernel {
  /** Stores the vector at `source` (f32) in a row. If the vector is not finite, the scale in the header is not finite either. */
  pack(source: number, row: number, low: number, steps: number): void
  /**
   * Writes an upper bound of the dot product of the query with each of `count` rows to `out` (f32). `list` has the rows' addresses.
   * The query consists of i16, times `unit`; `norm` is its length, and `error` its distance from the unrounded query.
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
  /** Writes the dot product of the query (f32) with each of these rows to `out`. */
  dots(query: number, list: number, count: number, out: number, steps: number): void
}

/** Numbers in a step: rows and queries are padded to whole steps. */
export const STEP = 16
/** A row begins with its scale, the norm of its low halves, its own norm (f32 each), and the address of its low halves (u32). */
export const HEADER_BYTES = 16
/** The largest high byte. */
export const LARGEST_HIGH = 127

/** Instantiates the kernel over a memory. Self-contained, because the worker runs a copy of its source text. */
export function bindKernel(code: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): Kernel {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } })
  return instance.exports as unknown as Kernel
}

type Bound = Parameters<Kernel['bound']>

export interface ScanWorker {
  /** Only one call at a time. @throws StorageError `unavailable` if the worker has failed */
  bound(...args: Bound): Promise<void>
  close(): void
}

/** Runs the kernel in a worker over the same memory, so that a long scan does not block the process. */
export function startScanWorker(code: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): ScanWorker {
  // Made from the source text of two functions: a worker file would have to be listed in every build of the binary.
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

/** The code of the worker. It may use nothing from outside but its argument. */
function main(bind: typeof bindKernel) {
  let kernel: Kernel | null = null
  self.onmessage = ({ data }: MessageEvent) => {
    if (kernel) {
      kernel.bound(...(data as Bound))
      postMessage(null)
    } else kernel = bind(data.code, data.memory)
  }
}
