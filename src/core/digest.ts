/** SHA-256 of texts and of JSON values, as lowercase hex. */
import { hash } from 'node:crypto'
import { stableJson } from './canonical.ts'

export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/** Of a value as canonical JSON, with JavaScript's notation for what I-JSON can't represent. */
export const jsonSha256 = (value: unknown): string => sha256Hex(stableJson(value))
