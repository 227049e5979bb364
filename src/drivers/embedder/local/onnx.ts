/** Models in ONNX format: reads the tensors of a file and builds a graph over them. */
// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
import { block, fieldsOf, float, number } from './protobuf.ts'

export interface Model {
  bytes: Uint8Array
  /** The file of its large tensors, in the form that onnxruntime expects. */
  externalData: [{ path: string; data: Uint8Array }]
}

/** Tensor types. */
export const [FLOAT, INT32, INT64] = [1, 6, 7]
/** The first version of ONNX's operators that has Attention, and the version of the format that belongs to it. */
const [OPERATORS, FORMAT] = [23, 10]
/** The domain of operators that onnxruntime adds. */
const ADDED = 'com.microsoft'
const added = new Set(['MatMulIntegerToFloat', 'Gelu'])
/** Tensors of at least this many bytes stay in their file; smaller ones are copied. */
const LARGE = 65_536
const PATH = 'weights'

/** The content of a field. @throws Error if there is no such field */
function contentOf(message: Uint8Array, field: number): Uint8Array {
  for (const { number, content } of fieldsOf(message)) if (number === field) return content
  throw new Error(`The model has no field ${field}`)
}

/** The tensors of a model's file by name; each value is a part of the file's bytes. */
function tensorsOf(file: Uint8Array): Map<string, Uint8Array> {
  const tensors = new Map<string, Uint8Array>()
  for (const { number, content } of fieldsOf(contentOf(file, 7)))
    if (number === 5) tensors.set(Buffer.from(contentOf(content, 8)).toString(), content)
  return tensors
}

/** A tensor of a file as an initializer of another model; a large one refers to its place in the file. */
function initializer(file: Uint8Array, tensor: Uint8Array): Uint8Array {
  if (tensor.length < LARGE) return block(5, tensor)
  const values = contentOf(tensor, 9)
  const place = { location: PATH, offset: values.byteOffset - file.byteOffset, length: values.length }
  return block(5, [
    ...[...fieldsOf(tensor)].filter(({ number }) => number !== 9).map(({ whole }) => whole),
    ...Object.entries(place).map(([key, value]) => block(13, [block(1, key), block(2, `${value}`)])),
    number(14, 1),
  ])
}

/** An attribute of an operator: whole numbers are passed as integers, others as floats. */
const attribute = (name: string, value: number): Uint8Array =>
  block(5, [
    block(1, name),
    ...(Number.isInteger(value) ? [number(3, value), number(20, 2)] : [float(2, value), number(20, 1)]),
  ])

/** An input or output of the model: its name, type, and number of dimensions, which may have any length. */
function valueInfo(name: string, type: number, dimensions: number): Uint8Array[] {
  const shape = Array.from({ length: dimensions }, (_, at) => block(1, [block(2, `${name}_${at}`)]))
  return [block(1, name), block(2, [block(1, [number(1, type), block(2, shape)])])]
}

/** Builds a graph over the tensors of a model's file. */
export function openGraph(file: Uint8Array) {
  const tensors = tensorsOf(file)
  const used = new Set<string>()
  const parts: Uint8Array[] = []
  let results = 0

  /** Adds an operation and returns the names of its results. An empty name leaves out an optional input. */
  function add(operator: string, inputs: readonly string[], attributes: Record<string, number> = {}, outputs = 1) {
    const names = Array.from({ length: outputs }, () => `result_${results++}`)
    parts.push(
      block(1, [
        ...inputs.map((name) => block(1, name)),
        ...names.map((name) => block(2, name)),
        block(4, operator),
        ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
        block(7, added.has(operator) ? ADDED : ''),
      ]),
    )
    return names
  }

  return {
    add,
    /** Like `add`, for operations with one result. */
    one: (...operation: Parameters<typeof add>): string => add(...operation)[0]!,
    /** A tensor of the file. @throws Error if there is no such tensor */
    tensor(name: string): string {
      const found = tensors.get(name)
      if (!found) throw new Error(`The model has no tensor ${name}`)
      if (!used.has(name)) parts.push(initializer(file, found))
      used.add(name)
      return name
    },
    /** A tensor of one integer. */
    integer(name: string, value: number): string {
      const values = new Uint8Array(BigInt64Array.of(BigInt(value)).buffer)
      parts.push(block(5, [number(1, 1), number(2, INT64), block(8, name), block(9, values)]))
      return name
    },
    input: (name: string, type: number, dimensions: number) =>
      void parts.push(block(11, valueInfo(name, type, dimensions))),
    output(name: string, of: string, type: number, dimensions: number): void {
      parts.push(block(1, [block(1, of), block(2, name), block(4, 'Identity')]))
      parts.push(block(12, valueInfo(name, type, dimensions)))
    },
    model(name: string): Model {
      const operators = (domain: string, version: number) => block(8, [block(1, domain), number(2, version)])
      const graph = block(7, [...parts, block(2, name)])
      const bytes = Buffer.concat([number(1, FORMAT), operators('', OPERATORS), operators(ADDED, 1), graph])
      return { bytes, externalData: [{ path: PATH, data: file }] }
    },
  }
}
