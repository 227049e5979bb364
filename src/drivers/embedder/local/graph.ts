/** The graph of all-MiniLM-L6-v2 over the weights of its file: the same values, bit for bit, in half as many operations. */
import { FLOAT, INT32, type Model, openGraph } from './onnx.ts'

/** Names of the model's input and output. */
export const TOKENS = 'tokens'
export const HIDDEN = 'hidden'

const LAYERS = 6
const HEADS = 12
const HEAD_SIZE = 32
const EPSILON = 1e-12

/** Names of a layer's matrices, as the model's exporter numbered them. */
function matricesOf(layer: number) {
  const name = (at: number) => `onnx::MatMul_${787 + 13 * layer + at}`
  return { query: name(0), key: name(1), value: name(4), after: name(10), wide: name(11), narrow: name(12) }
}

/**
 * The model of a file with optimisations that onnxruntime does not apply itself: a layer's queries, keys and values are one product, and its
 * heads one operation; there is no mask, because a run has a single text without padding; the matrices' zero points, all 0, are left out.
 * @throws Error if the file is not of this model
 */
export function graphOf(file: Uint8Array): Model {
  const { add, one, tensor, integer, input, output, model } = openGraph(file)

  const normed = (a: string, b: string, name: string): string =>
    one(
      'LayerNormalization',
      [one('Add', [a, b]), tensor(`${name}.LayerNorm.weight`), tensor(`${name}.LayerNorm.bias`)],
      {
        epsilon: EPSILON,
      },
    )

  /** Multiplies rows by several matrices side by side, which are concatenated once, when the model is loaded. */
  function multiplied(rows: string, matrices: readonly string[], biases: readonly string[]): string {
    const joined = (names: readonly string[], axis: number): string => {
      const tensors = names.map(tensor)
      return tensors.length === 1 ? tensors[0]! : one('Concat', tensors, { axis })
    }
    const [values, scale, zero] = add('DynamicQuantizeLinear', [rows], {}, 3) as [string, string, string]
    const weights = joined(
      matrices.map((name) => `${name}_quantized`),
      1,
    )
    const scales = joined(
      matrices.map((name) => `${name}_scale`),
      0,
    )
    const bias = joined(
      biases.map((name) => `${name}.bias`),
      0,
    )
    return one('MatMulIntegerToFloat', [values, weights, scale, scales, zero, '', bias])
  }

  input(TOKENS, INT32, 2)
  const zero = integer('zero', 0)
  const length = one('Shape', [TOKENS], { start: 1 })
  /** Rows of a table that has one byte for each value. */
  const rowsOf = (table: string, choose: (rows: string) => string): string => {
    const name = `embeddings.${table}_embeddings.weight`
    const rows = choose(tensor(`${name}_quantized`))
    return one('DequantizeLinear', [rows, tensor(`${name}_scale`), tensor(`${name}_zero_point`)])
  }
  const words = rowsOf('word', (rows) => one('Gather', [rows, TOKENS]))
  const parts = rowsOf('token_type', (rows) => one('Gather', [rows, zero]))
  const places = rowsOf('position', (rows) => one('Slice', [rows, zero, length, zero]))
  let hidden = normed(one('Add', [words, parts]), places, 'embeddings')

  for (let layer = 0; layer < LAYERS; layer++) {
    const at = `encoder.layer.${layer}`
    const { query, key, value, after, wide, narrow } = matricesOf(layer)
    const three = multiplied(
      hidden,
      [query, key, value],
      ['query', 'key', 'value'].map((name) => `${at}.attention.self.${name}`),
    )
    const seen = one('Attention', add('Split', [three], { axis: 2, num_outputs: 3 }, 3), {
      q_num_heads: HEADS,
      kv_num_heads: HEADS,
      scale: 1 / Math.sqrt(HEAD_SIZE),
    })
    const attended = multiplied(seen, [after], [`${at}.attention.output.dense`])
    const middle = normed(attended, hidden, `${at}.attention.output`)
    const inner = one('Gelu', [multiplied(middle, [wide], [`${at}.intermediate.dense`])])
    hidden = normed(multiplied(inner, [narrow], [`${at}.output.dense`]), middle, `${at}.output`)
  }
  output(HIDDEN, hidden, FLOAT, 3)
  return model('all-MiniLM-L6-v2')
}
