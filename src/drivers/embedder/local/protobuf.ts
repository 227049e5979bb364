/** The part of protobuf's wire format that is needed to read a model's file and to write a model. */
// https://protobuf.dev/programming-guides/encoding/

export interface Field {
  number: number
  /** The bytes of the field in the message. */
  whole: Uint8Array
  /** The field's text, message or packed numbers; empty for a single integer. */
  content: Uint8Array
}

/** @throws Error for a wire type that models don't use, and if the message ends within a field */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let weight = 1; at < message.length; weight *= 128) {
      const byte = message[at++]!
      value += (byte & 127) * weight
      if (byte < 128) return value
    }
    throw new Error('A message ends within a field')
  }
  while (at < message.length) {
    const start = at
    const tag = varint()
    const type = tag % 8
    if (type !== 0 && type !== 2 && type !== 5) throw new Error(`A field has the wire type ${type}`)
    if (type === 0) varint()
    const length = type === 2 ? varint() : type === 5 ? 4 : 0
    const content = message.subarray(at, at + length)
    if (content.length < length) throw new Error('A message ends within a field')
    at += length
    yield { number: Math.floor(tag / 8), whole: message.subarray(start, at), content }
  }
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128)
  return [...bytes, left]
}

/** A field with a non-negative integer. */
export const number = (field: number, value: number): Uint8Array =>
  Uint8Array.from([...varint(field * 8), ...varint(value)])

export const float = (field: number, value: number): Uint8Array =>
  Uint8Array.from([...varint(field * 8 + 5), ...new Uint8Array(Float32Array.of(value).buffer)])

/** A field with text, bytes, or a message of these fields. */
export function block(field: number, content: string | Uint8Array | readonly Uint8Array[]): Uint8Array {
  const bytes = Array.isArray(content) ? Buffer.concat(content) : Buffer.from(content as string | Uint8Array)
  return Buffer.concat([Uint8Array.from([...varint(field * 8 + 2), ...varint(bytes.length)]), bytes])
}
