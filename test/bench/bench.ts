/** What every part works with: sizes, seeded places, servers, and the table that grows. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { caller } from './corpus.ts'
import { embeddedSite } from './embedded.ts'
import type { EmbedderName } from './embedders.ts'
import { postgresSite } from './postgres.ts'
import { type Child, startChild, together } from './process.ts'
import { line, type Row } from './report.ts'
import { settled } from './settled.ts'
import type { Place, Site } from './site.ts'

export type { EmbedderName } from './embedders.ts'

export const token = `${caller}:bench-token-of-it`
/** Of other agents: what one agent records waits for what it recorded before. */
export const tokens = Array.from({ length: 32 }, (_, number) => `agent-${number}:bench-token-of-${number}`)

export interface ServerOptions {
  embedder?: EmbedderName
  /** How many servers share the load; the caller sees one, and clients are spread over them. */
  servers?: number
  /** Where it is asked until it answers. */
  path?: '/health' | '/ready'
  bun?: readonly string[]
  env?: Record<string, string>
}

export interface Bench extends Pick<Site, 'store' | 'about' | 'servers' | 'empty' | 'env'> {
  sizes: readonly number[]
  /** The size of what is measured at one size only. */
  middle: number
  /** Numbers of servers to read with: several at one size, which is large enough to tell. */
  serversAt(size: number): readonly number[]
  rows: Row[]
  add(row: Row): Row
  /** A place with so many decisions; made once, for reading. */
  seeded(size: number, embedder?: EmbedderName): Promise<Place>
  /** A copy that may be written to. */
  scratch(size: number, embedder: EmbedderName): Promise<Place>
  /** The program itself on a place. */
  server(place: Place, options?: ServerOptions): Promise<Child>
  /** The same once it has nothing left to do but to answer. */
  quietServer(place: Place, options?: ServerOptions): Promise<Child>
  echo(bytes: number): Promise<Child>
  /** A child process of a script in `entries`, which gets its port first. */
  entry(name: string, ...args: (string | number)[]): Promise<Child>
  close(): Promise<void>
}

export async function openBench(
  sizes: readonly number[],
  show: (text: string) => void,
  store: Site['store'] = 'embedded',
): Promise<Bench> {
  const root = await mkdtemp(join(tmpdir(), 'cstp-bench-'))
  // What is seeded holds its segments: writing them is not what a measurement of reads measures.
  const indexed = async (place: Place, embedder: EmbedderName, servers: number) => {
    const child = await bench.quietServer(place, { embedder, servers })
    await child.stop()
  }
  const site = store === 'embedded' ? embeddedSite(root, indexed) : await postgresSite(root, indexed)
  const severalAt = Math.max(...sizes.filter((size) => size <= 100_000))
  const seen = new Set<string>()
  const running = new Set<Child>()
  const rows: Row[] = []
  let logs = 0

  const started = async (child: Promise<Child>): Promise<Child> => {
    const one = await child
    running.add(one)
    return {
      ...one,
      stop: async () => {
        running.delete(one)
        await one.stop()
      },
    }
  }

  const bench: Bench = {
    ...site,
    sizes,
    middle: 10_000,
    serversAt: (size) => (size === severalAt ? site.servers : [1]),
    rows,
    add(row) {
      rows.push(row)
      show(line(row))
      return row
    },
    async seeded(size, embedder = 'local') {
      const start = performance.now()
      const place = await site.seeded(size, embedder)
      const seconds = (performance.now() - start) / 1_000
      if (!seen.has(place) && seconds > 1) show(`(${size} decisions seeded in ${seconds.toFixed(1)} s)`)
      seen.add(place)
      return place
    },
    async server(place, options = {}) {
      const { embedder = 'local', servers = 1, path = '/ready', bun = [] } = options
      const one = async (number: number) => {
        const env = await site.env(place, number)
        return startChild({
          script: 'src/main.ts',
          args: () => ['serve'],
          bun,
          env: (port) => ({
            HOME: root,
            CSTP_PORT: String(port),
            CSTP_EMBEDDER: embedder,
            CSTP_AUTH_TOKENS: [token, ...tokens].join(','),
            CSTP_ADMIN_AGENTS: caller,
            CSTP_EVIDENCE_AGENTS: caller,
            CSTP_RATE_LIMIT: '0',
            ...env,
            ...options.env,
          }),
          path,
          log: join(root, `log-${logs++}`),
        })
      }
      return started(Promise.all(Array.from({ length: servers }, (_, number) => one(number))).then(together))
    },
    async quietServer(place, options) {
      const child = await bench.server(place, options)
      await settled(child, token)
      return child
    },
    echo: (bytes) => bench.entry('echo', bytes),
    entry: (name, ...args) =>
      started(
        startChild({
          script: `test/bench/entries/${name}.ts`,
          args: (port) => [port, ...args],
          path: '/',
          log: join(root, `log-${logs++}`),
        }),
      ),
    async close() {
      await Promise.all([...running].map((child) => child.stop()))
      await site.close()
      await rm(root, { recursive: true, force: true })
    },
  }
  return bench
}
