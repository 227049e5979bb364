/** SHA-256 of texts and of JSON values, as lowercase hex. */
import { hash } from 'node:crypto'
import { memoize, stableJson } from './canonical.ts'

export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/** Of a value as canonical JSON, with JavaScript's notation for what I-JSON can't represent. */
export const jsonSha256 = (value: unknown): string => sha256Hex(stableJson(value))

const objectSha256 = memoize<object, string>(jsonSha256)

/** The same of the input of a call, which several steps ask for: computed once. The argument must not be changed afterwards. */
export const inputSha256 = (input: unknown): string =>
  typeof input === 'object' && input !== null ? objectSha256(input) : jsonSha256(input)
