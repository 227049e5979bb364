/**
 * The commitment to an act, which is its entry in the log. Anyone with payload and salt can compute it. The payload can't be guessed from
 * the commitment alone, as the salt is random.
 */
import { createHash } from 'node:crypto'

/**
 * The prefix "cstp/record/v2" keeps any other hash of this program from being taken for a commitment.
 * @param salt 32 bytes, lowercase hex
 * @param payload canonical JSON (RFC 8785)
 * @returns SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex
 */
export const commitmentOf = (salt: string, payload: string): string =>
  createHash('sha256').update('cstp/record/v2').update(Buffer.from(salt, 'hex')).update(payload).digest('hex')
