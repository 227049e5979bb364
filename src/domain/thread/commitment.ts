/**
 * The commitment to an act: the entry that the log holds of it. Anyone with payload and salt can compute it; anyone with only the
 * commitment can't find out the payload by guessing, as the salt is random.
 */
import { hash } from 'node:crypto'

/** What comes first in the bytes that are hashed, so that no other hash of this program can be taken for a commitment. */
const domain = Buffer.from('cstp/record/v2')

/**
 * @param salt 32 bytes, lowercase hex
 * @param payload canonical JSON (RFC 8785)
 * @returns SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex
 */
export const commitmentOf = (salt: string, payload: string): string =>
  hash('sha256', Buffer.concat([domain, Buffer.from(salt, 'hex'), Buffer.from(payload)]), 'hex')
