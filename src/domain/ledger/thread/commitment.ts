/**
 * The commitment to an act, which is its entry in the log. Anyone with payload and salt can compute it. The payload can't be guessed from
 * the commitment alone, as the salt is random.
 */
import { hash } from 'node:crypto'

const prefix = Buffer.from('cstp/record/v2')

/**
 * The prefix "cstp/record/v2" keeps any other hash of this program from being taken for a commitment.
 * @param salt 32 bytes, lowercase hex
 * @param payload canonical JSON (RFC 8785)
 * @returns SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex
 */
export const commitmentOf = (salt: string, payload: string): string =>
  hash('sha256', Buffer.concat([prefix, Buffer.from(salt, 'hex'), Buffer.from(payload)]), 'hex')
