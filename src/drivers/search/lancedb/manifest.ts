/**
 * The manifest: which segments there are, and up to which change they hold everything. It is written when the files of a segment are on
 * the disk, so whatever else is at the place is left over from a write that died. Who writes holds a lease that is part of it.
 */
import type { SearchGeneration } from '../../../../sdk/storage/search.ts'

/** A segment: two tables, its decisions and its words, each at the version that counts. */
export interface SegmentFacts {
  name: string
  version: number
  words_version: number
  decisions: number
  /** Those with vectors. */
  indexed: number
  /** Sum of the lengths of their texts, in terms. */
  length: number
}

export interface Manifest {
  watermark: number
  embedder: string
  dimensions: number
  segments: SegmentFacts[]
  /** Who writes segments now, and until when nobody else may begin. */
  writer: { id: string; until_ms: number } | null
}

/** Where manifests are kept: the keyed records of the store, as all servers of a place agree on them. */
export interface Manifests {
  /** Id of the store, made at the first call: all its servers, and copies of it, have the same. */
  store(): Promise<string>
  read(key: string): Promise<{ value: unknown; version: number } | null>
  /** Replaces what has this version, 0 for what does not exist. False if it has another by now. */
  write(key: string, value: unknown, version: number): Promise<boolean>
  /** All keys that begin so. */
  keys(prefix: string): Promise<string[]>
  remove(key: string): Promise<void>
}

export const LEASE_MS = 60_000

const emptyManifest = ({ embedder, dimensions }: SearchGeneration): Manifest => ({
  watermark: 0,
  embedder,
  dimensions,
  segments: [],
  writer: null,
})

/** A lease that was taken. */
export interface Held {
  manifest: Manifest
  /** Makes this the manifest and gives the lease back. False if somebody took it over meanwhile. */
  publish(next: Pick<Manifest, 'watermark' | 'segments'>): Promise<boolean>
  /** Gives the lease back unused. */
  release(): Promise<void>
}

/** The manifest of one generation. @param keyOf null while there is no place yet @param now milliseconds since 1970 */
export function openManifest(
  manifests: Manifests,
  keyOf: () => Promise<string | null>,
  generation: SearchGeneration,
  now: () => number,
) {
  const me = crypto.randomUUID()
  const read = async () => {
    const key = await keyOf()
    const stored = key === null ? null : await manifests.read(key)
    return {
      manifest: (stored?.value as Manifest | undefined) ?? emptyManifest(generation),
      version: stored?.version ?? 0,
    }
  }
  return {
    read: async () => (await read()).manifest,
    /** Takes the lease; null while another writer has it. */
    async take(): Promise<Held | null> {
      const { manifest, version: found } = await read()
      const key = await keyOf()
      if (key === null) return null
      let version = found
      if (manifest.writer !== null && manifest.writer.id !== me && manifest.writer.until_ms > now()) return null
      const write = async (next: Manifest): Promise<boolean> => {
        const written = await manifests.write(key, next, version)
        if (written) version++
        return written
      }
      const claimed = () => ({ ...manifest, writer: { id: me, until_ms: now() + LEASE_MS } })
      if (!(await write(claimed()))) return null
      let lost = false
      let renewing: Promise<void> = Promise.resolve()
      const timer = setInterval(() => {
        renewing = renewing.then(async () => {
          if (!lost) lost = !(await write(claimed()).catch(() => true))
        })
      }, LEASE_MS / 3)
      timer.unref()
      const end = async (next: Manifest): Promise<boolean> => {
        clearInterval(timer)
        await renewing
        return !lost && (await write(next))
      }
      return {
        manifest,
        publish: (next) => end({ ...manifest, ...next, writer: null }),
        release: async () => void (await end({ ...manifest, writer: null })),
      }
    },
  }
}
