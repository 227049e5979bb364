/** Runs the kernel in a worker over the same memory, so that a long scan does not hold up the process. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { bindKernel, type Kernel } from './kernel.ts'

type Scan = Parameters<Kernel['scan']>

export interface ScanWorker {
  /** One at a time. @throws StorageError `unavailable` when the worker died */
  scan(...args: Scan): Promise<void>
  close(): void
}

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
    scan(...args) {
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
      kernel.scan(...(data as Scan))
      postMessage(null)
    } else kernel = bind(data.code, data.memory)
  }
}
