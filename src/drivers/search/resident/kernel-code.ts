/** The code of the kernel, assembled from WebAssembly instructions. */

type Bytes = number[]

const unsigned = (value: number): Bytes =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(Math.floor(value / 128))]
const signed = (value: number): Bytes =>
  value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)]
const list = (items: Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()]
const name = (text: string): Bytes => list([...new TextEncoder().encode(text)].map((byte) => [byte]))
const section = (id: number, body: Bytes): Bytes => [id, ...unsigned(body.length), ...body]

// WebAssembly opcodes, each followed by its alignment, offset or lane.
const I32 = 0x7f
const F32 = 0x7d
const V128 = 0x7b
const NOTHING = 0x40
const get = (local: number): Bytes => [0x20, ...unsigned(local)]
const set = (local: number): Bytes => [0x21, ...unsigned(local)]
const i32 = (value: number): Bytes => [0x41, ...signed(value)]
const f32 = (value: number): Bytes => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)]
const add = [0x6a]
const subtract = [0x6b]
const isZero = [0x45]
const loadI32 = (offset: number): Bytes => [0x28, 2, offset]
const loadF32 = (offset: number): Bytes => [0x2a, 2, offset]
const storeF32 = (offset: number): Bytes => [0x38, 2, offset]
const sqrtF32 = [0x91]
const addF32 = [0x92]
const multiplyF32 = [0x94]
const divideF32 = [0x95]
const maxF32 = [0x97]
const convertF32 = [0xb2]
const simd = (code: number): Bytes => [0xfd, ...unsigned(code)]
const load = (code: number, offset: number): Bytes => [...simd(code), 0, ...unsigned(offset)]
const loadV128 = (offset: number): Bytes => load(0x00, offset)
const loadI8x8 = (offset: number): Bytes => load(0x01, offset)
const loadI16x4 = (offset: number): Bytes => load(0x03, offset)
const storeV128 = (offset: number): Bytes => load(0x0b, offset)
const zeroV128: Bytes = [...simd(0x0c), ...new Array<number>(16).fill(0)]
const splatI32 = simd(0x11)
const splatF32 = simd(0x13)
const laneI32 = (index: number): Bytes => [...simd(0x1b), index]
const laneF32 = (index: number): Bytes => [...simd(0x1f), index]
const nearestF32x4 = simd(0x6a)
const narrowI16x8 = simd(0x65)
const narrowI32x4 = simd(0x85)
const lowI32x4 = simd(0xa7)
const highI32x4 = simd(0xa8)
const shiftLeftI32x4 = simd(0xab)
const shiftRightI32x4 = simd(0xac)
const addI32x4 = simd(0xae)
const subtractI32x4 = simd(0xb1)
const dotI16x8 = simd(0xba)
const absF32x4 = simd(0xe0)
const addF32x4 = simd(0xe4)
const multiplyF32x4 = simd(0xe6)
const maxF32x4 = simd(0xe9)
const truncateF32x4 = simd(0xf8)
const convertF32x4 = simd(0xfa)
const block = (...body: Bytes[]): Bytes => [0x02, NOTHING, ...body.flat(), 0x0b]
const loop = (...body: Bytes[]): Bytes => [0x03, NOTHING, ...body.flat(), 0x0b]
const branch = (depth: number): Bytes => [0x0c, depth]
const branchIf = (depth: number): Bytes => [0x0d, depth]
const move = (local: number, by: Bytes, operation: Bytes): Bytes => [...get(local), ...by, ...operation, ...set(local)]
const advance = (local: number, bytes: number): Bytes => move(local, i32(bytes), add)

/** Runs `body` `count` times, and decrements `count` to zero. */
const repeat = (count: number, ...body: Bytes[]): Bytes =>
  block(loop([...get(count), ...isZero, ...branchIf(1)], ...body, move(count, i32(1), subtract), branch(0)))

const lanes = (vector: number, lane: (index: number) => Bytes, operation: Bytes): Bytes => [
  ...get(vector),
  ...lane(0),
  ...[1, 2, 3].flatMap((index) => [...get(vector), ...lane(index), ...operation]),
]

const header = 16
/** The largest value of a row is stored as this number: 127·65 536. */
const largest = 8_323_072

/** (source, row, low, steps) */
function pack(): Bytes {
  const [source, row, low, steps] = [0, 1, 2, 3]
  const [at, left, largestOf, lost, whole, high] = [4, 5, 6, 7, 8, 9]
  const values = [10, 11, 12, 13]
  const lows = [14, 15, 16, 17]
  const [factor, peak] = [18, 19]
  const highs = [20, 21, 22, 23]
  const quads = [0, 1, 2, 3]
  const body = [
    ...[...zeroV128, ...set(largestOf), ...zeroV128, ...set(lost), ...zeroV128, ...set(whole)],
    ...[...get(source), ...set(at), ...get(steps), ...set(left)],
    ...repeat(
      left,
      quads.flatMap((quad) => [
        ...[...get(largestOf), ...get(at), ...loadV128(16 * quad), ...absF32x4],
        ...[...maxF32x4, ...set(largestOf)],
      ]),
      advance(at, 64),
    ),
    ...[...lanes(largestOf, laneF32, maxF32), ...set(peak)],
    ...[...f32(largest), ...get(peak), ...divideF32, ...splatF32, ...set(factor)],
    ...[...get(source), ...set(at), ...get(steps), ...set(left), ...get(row), ...i32(header), ...add, ...set(high)],
    ...repeat(
      left,
      quads.flatMap((quad) => [
        ...[...get(at), ...loadV128(16 * quad), ...get(factor), ...multiplyF32x4, ...nearestF32x4, ...truncateF32x4],
        ...set(values[quad]!),
        // Rounds to the nearest high byte; the low half is signed.
        ...[...get(values[quad]!), ...i32(32_768), ...splatI32, ...addI32x4, ...i32(16), ...shiftRightI32x4],
        ...set(highs[quad]!),
        ...[...get(values[quad]!), ...get(highs[quad]!), ...i32(16), ...shiftLeftI32x4, ...subtractI32x4],
        ...set(lows[quad]!),
        ...[...get(lost), ...get(lows[quad]!), ...convertF32x4, ...get(lows[quad]!), ...convertF32x4],
        ...[...multiplyF32x4, ...addF32x4, ...set(lost)],
        ...[...get(whole), ...get(values[quad]!), ...convertF32x4, ...get(values[quad]!), ...convertF32x4],
        ...[...multiplyF32x4, ...addF32x4, ...set(whole)],
      ]),
      [...get(high), ...get(highs[0]!), ...get(highs[1]!), ...narrowI32x4, ...get(highs[2]!), ...get(highs[3]!)],
      [...narrowI32x4, ...narrowI16x8, ...storeV128(0)],
      [...get(low), ...get(lows[0]!), ...get(lows[1]!), ...narrowI32x4, ...storeV128(0)],
      [...get(low), ...get(lows[2]!), ...get(lows[3]!), ...narrowI32x4, ...storeV128(16)],
      [...advance(at, 64), ...advance(high, 16), ...advance(low, 32)],
    ),
    ...[...move(peak, f32(largest), divideF32)],
    ...[...get(row), ...get(peak), ...storeF32(0)],
    ...[...get(row), ...lanes(lost, laneF32, addF32), ...sqrtF32, ...get(peak), ...multiplyF32, ...storeF32(4)],
    ...[...get(row), ...lanes(whole, laneF32, addF32), ...sqrtF32, ...get(peak), ...multiplyF32, ...storeF32(8)],
  ]
  return code(
    [
      [2, I32],
      [3, V128],
      [1, I32],
      [9, V128],
      [1, F32],
      [4, V128],
    ],
    body,
  )
}

/** (query, list, count, out, steps, unit, norm, error) */
function bound(): Bytes {
  const [query, rows, count, out, steps, unit, norm, error] = [0, 1, 2, 3, 4, 5, 6, 7]
  const [at, row, high, left] = [8, 9, 10, 11]
  const sums = [12, 13]
  const step = [0, 1].flatMap((half) => [
    ...[...get(sums[half]!), ...get(high), ...loadI8x8(8 * half), ...get(at), ...loadV128(16 * half)],
    ...[...dotI16x8, ...addI32x4, ...set(sums[half]!)],
  ])
  const body = repeat(
    count,
    [...get(rows), ...loadI32(0), ...set(row), ...get(row), ...i32(header), ...add, ...set(high)],
    [...get(query), ...set(at), ...get(steps), ...set(left)],
    sums.flatMap((sum) => [...zeroV128, ...set(sum)]),
    loop(
      step,
      [...advance(high, 16), ...advance(at, 32)],
      [...move(left, i32(1), subtract), ...get(left), ...branchIf(0)],
    ),
    [...get(sums[0]!), ...get(sums[1]!), ...addI32x4, ...set(sums[0]!)],
    [...get(out), ...lanes(sums[0]!, laneI32, add), ...convertF32, ...get(unit), ...multiplyF32],
    [...get(row), ...loadF32(0), ...multiplyF32],
    [...get(row), ...loadF32(4), ...get(norm), ...multiplyF32, ...addF32],
    [...get(row), ...loadF32(8), ...get(error), ...multiplyF32, ...addF32, ...storeF32(0)],
    [...advance(rows, 4), ...advance(out, 4)],
  )
  return code(
    [
      [4, I32],
      [2, V128],
    ],
    body,
  )
}

/** (query, list, count, out, steps) */
function dots(): Bytes {
  const [query, rows, count, out, steps] = [0, 1, 2, 3, 4]
  const [at, row, high, low, left] = [5, 6, 7, 8, 9]
  const sums = [10, 11, 12, 13]
  const part = 14
  const quad = (index: number): Bytes => [
    ...[...get(sums[index]!), ...get(part), ...(index % 2 === 0 ? lowI32x4 : highI32x4), ...i32(16), ...shiftLeftI32x4],
    ...[...get(low), ...loadI16x4(8 * index), ...addI32x4, ...convertF32x4],
    ...[...get(at), ...loadV128(16 * index), ...multiplyF32x4, ...addF32x4, ...set(sums[index]!)],
  ]
  const body = repeat(
    count,
    [...get(rows), ...loadI32(0), ...set(row), ...get(row), ...i32(header), ...add, ...set(high)],
    [...get(row), ...loadI32(12), ...set(low), ...get(query), ...set(at), ...get(steps), ...set(left)],
    sums.flatMap((sum) => [...zeroV128, ...set(sum)]),
    loop(
      [...get(high), ...loadI8x8(0), ...set(part), ...quad(0), ...quad(1)],
      [...get(high), ...loadI8x8(8), ...set(part), ...quad(2), ...quad(3)],
      [...advance(high, 16), ...advance(low, 32), ...advance(at, 64)],
      [...move(left, i32(1), subtract), ...get(left), ...branchIf(0)],
    ),
    [...get(sums[0]!), ...sums.slice(1).flatMap((sum) => [...get(sum), ...addF32x4]), ...set(sums[0]!)],
    [...get(out), ...lanes(sums[0]!, laneF32, addF32), ...get(row), ...loadF32(0), ...multiplyF32, ...storeF32(0)],
    [...advance(rows, 4), ...advance(out, 4)],
  )
  return code(
    [
      [5, I32],
      [5, V128],
    ],
    body,
  )
}

const code = (locals: Bytes[], body: Bytes): Bytes => {
  const whole = [...list(locals), ...body, 0x0b]
  return [...unsigned(whole.length), ...whole]
}

const types = [
  [...new Array<number>(4).fill(I32)],
  [...new Array<number>(5).fill(I32), ...new Array<number>(3).fill(F32)],
  [...new Array<number>(5).fill(I32)],
].map((parameters): Bytes => [0x60, ...list(parameters.map((type) => [type])), 0])

/** Assembles the module; `maximum` is the maximum size of the memory, in pages of 64 KiB. */
export const assembleKernel = (maximum: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(2, list([[...name('env'), ...name('memory'), 2, 3, ...unsigned(1), ...unsigned(maximum)]])),
    ...section(3, list([[0], [1], [2]])),
    ...section(7, list(['pack', 'bound', 'dots'].map((export_name, index) => [...name(export_name), 0, index]))),
    ...section(10, list([pack(), bound(), dots()])),
  ])
