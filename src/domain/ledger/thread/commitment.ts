/**
 * The commitment to an act, which is its entry in the log. Anyone with payload and salt can compute it. The payload can't be guessed from
 * the commitment alone, as the salt is random.
 */
import { hash } from 'node:crypto'

/** Prefix of the hashed bytes, so that no other hash of this program can be taken for a commitment. */
const domain = 'cstp/record/v2'
const saltLength = 32

/** Buffer of the bytes to hash, which is filled and hashed synchronously. */
let bytes = Buffer.alloc(16_384)
bytes.write(domain)

/**
 * @param salt 32 bytes, lowercase hex
 * @param payload canonical JSON (RFC 8785)
 * @returns SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex
 */
export function commitmentOf(salt: string, payload: string): string {
  const start = domain.length + saltLength
  // A unit of UTF-16 takes three bytes at most.
  if (bytes.length < start + 3 * payload.length) {
    bytes = Buffer.alloc(start + 3 * payload.length)
    bytes.write(domain)
  }
  bytes.write(salt, domain.length, 'hex')
  const end = start + bytes.write(payload, start)
  return hash('sha256', bytes.subarray(0, end), 'hex')
}
