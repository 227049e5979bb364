/**
 * SHA-256 by the engine's own call: as pure as the rest of the domain, and for short texts some 15 % faster than node's, which makes an
 * object for each hash.
 */

/** Of a text in UTF-8, lowercase hex. */
export const sha256Hex = (text: string): string => Bun.SHA256.hash(text, 'hex')

/** @param target 32 bytes, which may be part of a longer array */
export function sha256Into(target: Uint8Array, bytes: Uint8Array): void {
  Bun.SHA256.hash(bytes, target)
}
