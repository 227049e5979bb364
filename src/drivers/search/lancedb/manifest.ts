/**
 * The manifest: which segments exist, and up to which change they are complete. It is written once the files of a segment are on
 * disk, so anything else at the place is left over from a crashed writer. Writers hold a lease, which is part of it.
 */
import type { SearchGeneration } from '../../../../sdk/storage/search.ts'

/** A segment: two tables, its decisions and its words, each at the version that counts. */
export interface SegmentFacts {
  name: string
  version: number
  words_version: number
  decisions: number
  /** Decisions with vectors. */
  indexed: number
  /** Sum of the lengths of their texts, in terms. */
  length: number
}

export interface Manifest {
  watermark: number
  embedder: string
  dimensions: number
  segments: SegmentFacts[]
  /** The current writer of segments, and the end of its lease. */
  writer: { id: string; until_ms: number } | null
}

/** Where manifests are kept: in the keyed records of the store, which all servers share. */
export interface Manifests {
  /** Id of the store, created by the first call; the same for all its servers and copies. */
  store(): Promise<string>
  read(key: string): Promise<{ value: unknown; version: number } | null>
  /** Replaces the value with this version, 0 if there is none. False if the version has changed. */
  write(key: string, value: unknown, version: number): Promise<boolean>
  /** All keys with this prefix. */
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

/** An acquired lease. */
export interface Held {
  manifest: Manifest
  /** Publishes this manifest and releases the lease. False if another process has taken it over. */
  publish(next: Pick<Manifest, 'watermark' | 'segments'>): Promise<boolean>
  /** Releases the lease unused. */
  release(): Promise<void>
}

/** The manifest of one generation. @param keyOf null until there is a place @param now milliseconds since 1970 */
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
    /** Acquires the lease; null while another writer holds it. */
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
