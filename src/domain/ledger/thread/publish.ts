/** Publishes the thread: its checkpoints, without witnesses the latest one, and the log as files. */
import type { LogHashes } from '../engine/proof.ts'
import { isCovered, parseTilePath, tileBytes } from '../engine/tiles.ts'
import type { Publisher } from './receipts.ts'
import type { Thread } from './sequencer.ts'

/** How long readers without credentials share one read of the log, so that they can't make it sign for each of them. */
const sharedLook_ms = 1_000

/** The thread as a publisher needs it. */
export type PublishedThread = Pick<Thread, 'sequence' | 'checkpoints'>

/** A checkpoint that covers at least `size` entries; a new one only if necessary. */
export async function checkpointOver({ checkpoints }: PublishedThread, size: number) {
  const last = await checkpoints.latest(Number.MAX_SAFE_INTEGER)
  return last.size >= size ? last : checkpoints.latest()
}

/** Publishes checkpoints that only the log signed. @param now milliseconds since 1970 */
export function publishAlone(thread: PublishedThread, now: () => number): Publisher {
  let looked_ms = Number.NEGATIVE_INFINITY
  return {
    covering: (size) => checkpointOver(thread, size),
    async shown() {
      if (now() - looked_ms > sharedLook_ms) {
        looked_ms = now()
        await thread.sequence()
      }
      return thread.checkpoints.latest(sharedLook_ms)
    },
    close: async () => {},
  }
}

/** The log as files, by their paths below its prefix. */
export interface StaticLog {
  /** C2SP verifier key. */
  verifier_key: string
  /** The signed note of the checkpoint that is published. */
  checkpoint(): Promise<string>
  /** A tile or a bundle of entries, `tile/…`; null if the signed log has none. @throws StorageError `corrupt` */
  tile(path: string): Promise<Uint8Array<ArrayBuffer> | null>
}

export const staticLog = (
  log: LogHashes,
  { signer, checkpoints }: Pick<Thread, 'signer' | 'checkpoints'>,
  publisher: Publisher,
): StaticLog => ({
  verifier_key: signer.verifier_key,
  checkpoint: async () => (await publisher.shown()).note,
  async tile(path) {
    const tile = parseTilePath(path)
    if (tile === null) return null
    // Another server on the same store may have signed a larger checkpoint.
    for (const max_age_ms of [Number.MAX_SAFE_INTEGER, sharedLook_ms])
      if (isCovered(tile, (await checkpoints.latest(max_age_ms)).size)) return tileBytes(log, tile)
    return null
  },
})
