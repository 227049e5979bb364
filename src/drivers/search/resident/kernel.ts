/** The scan: a WebAssembly SIMD module of one function, assembled here so that the build needs no further file or tool. */
import { StorageError } from '../../../../sdk/storage/errors.ts'

/** Byte length of one step of the inner loop: four registers of four floats. Rows are padded to a multiple of it. */
export const STEP_BYTES = 64

interface Kernel {
  /**
   * Writes the dot product of the vector at `query` with each of `count` vectors to `out`, one f32 each. `list` holds their
   * addresses, u32 each; `bytes` is the padded length of a vector. All addresses are bytes in the shared memory.
   */
  scan(query: number, list: number, count: number, out: number, bytes: number): void
}

/** Instantiates the kernel over a memory. Self-contained, because the worker runs a copy of its text. */
export function bindKernel(code: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): Kernel {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } })
  return { scan: instance.exports.scan as Kernel['scan'] }
}

type Scan = Parameters<Kernel['scan']>

export interface ScanWorker {
  /** One at a time. @throws StorageError `unavailable` when the worker died */
  scan(...args: Scan): Promise<void>
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

type Bytes = number[]

const unsigned = (value: number): Bytes =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(Math.floor(value / 128))]
const list = (items: Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()]
const name = (text: string): Bytes => list([...new TextEncoder().encode(text)].map((byte) => [byte]))
const section = (id: number, body: Bytes): Bytes => [id, ...unsigned(body.length), ...body]

// Opcodes of WebAssembly; what follows one is its alignment, offset or lane.
const I32 = 0x7f
const V128 = 0x7b
const NOTHING = 0x40
const get = (local: number): Bytes => [0x20, ...unsigned(local)]
const set = (local: number): Bytes => [0x21, ...unsigned(local)]
/** Only 0 to 63: a larger constant would need the signed encoding's second byte. */
const i32 = (value: number): Bytes => [0x41, value]
const add = [0x6a]
const subtract = [0x6b]
const isZero = [0x45]
const isBelow = [0x49]
const loadI32 = [0x28, 2, 0]
const storeF32 = [0x38, 2, 0]
const addF32 = [0x92]
const simd = (code: number): Bytes => [0xfd, ...unsigned(code)]
const loadV128 = (offset: number): Bytes => [...simd(0x00), 2, offset]
const zeroV128: Bytes = [...simd(0x0c), ...new Array<number>(16).fill(0)]
const addF32x4 = simd(0xe4)
const multiplyF32x4 = simd(0xe6)
const lane = (index: number): Bytes => [...simd(0x1f), index]
const block = (...body: Bytes[]): Bytes => [0x02, NOTHING, ...body.flat(), 0x0b]
const loop = (...body: Bytes[]): Bytes => [0x03, NOTHING, ...body.flat(), 0x0b]
const branch = (depth: number): Bytes => [0x0c, depth]
const branchIf = (depth: number): Bytes => [0x0d, depth]
const move = (local: number, by: Bytes, operation: Bytes): Bytes => [...get(local), ...by, ...operation, ...set(local)]

/** Assembles the module; `maximum` is the memory's, in pages of 64 KiB. */
export function assembleKernel(maximum: number): Uint8Array<ArrayBuffer> {
  const [query, rows, count, out, bytes, at, row, end] = [0, 1, 2, 3, 4, 5, 6, 7]
  const sums = [8, 9, 10, 11]
  // Four independent sums, so that the additions need not wait for each other.
  const step = sums.flatMap((sum, i) => [
    ...get(sum),
    ...[...get(row), ...loadV128(16 * i), ...get(at), ...loadV128(16 * i), ...multiplyF32x4],
    ...addF32x4,
    ...set(sum),
  ])
  const total = [...get(sums[0]!), ...sums.slice(1).flatMap((sum) => [...get(sum), ...addF32x4])]
  const body = block(
    loop(
      [...get(count), ...isZero, ...branchIf(1)],
      [
        ...get(rows),
        ...loadI32,
        ...set(row),
        ...get(query),
        ...set(at),
        ...get(query),
        ...get(bytes),
        ...add,
        ...set(end),
      ],
      sums.flatMap((sum) => [...zeroV128, ...set(sum)]),
      loop(
        step,
        [...get(row), ...i32(32), ...add, ...i32(32), ...add, ...set(row)],
        [...get(at), ...i32(32), ...add, ...i32(32), ...add, ...set(at)],
        [...get(at), ...get(end), ...isBelow, ...branchIf(0)],
      ),
      [...total, ...set(sums[0]!)],
      [...get(out), ...get(sums[0]!), ...lane(0)],
      [1, 2, 3].flatMap((index) => [...get(sums[0]!), ...lane(index), ...addF32]),
      storeF32,
      [...move(rows, i32(4), add), ...move(out, i32(4), add), ...move(count, i32(1), subtract), ...branch(0)],
    ),
  )
  const locals = list([
    [3, I32],
    [4, V128],
  ])
  const code = [...locals, ...body, 0x0b]
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, ...list(new Array<Bytes>(5).fill([I32])), 0]])),
    ...section(2, list([[...name('env'), ...name('memory'), 2, 3, ...unsigned(1), ...unsigned(maximum)]])),
    ...section(3, list([[0]])),
    ...section(7, list([[...name('scan'), 0, 0]])),
    ...section(10, list([[...unsigned(code.length), ...code]])),
  ])
}
