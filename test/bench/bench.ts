/** What every part works with: sizes, seeded data directories, servers, and the table that grows. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assets } from '../../src/drivers/embedder/local/assets.ts'
import { caller } from './corpus.ts'
import { type Child, runToEnd, startChild } from './process.ts'
import { line, type Row } from './report.ts'

/** The embedders whose vectors are seeded; what these drivers call themselves, without loading a model here. */
export const embedders = {
  local: { id: `local/all-MiniLM-L6-v2-int8/${assets.model.sha256.slice(0, 12)}`, dimensions: 384 },
  hash: { id: 'hash/words-trigrams-256/1', dimensions: 256 },
} as const
export type EmbedderName = keyof typeof embedders

export const token = `${caller}:bench-token`

export interface ServerOptions {
  embedder?: EmbedderName
  lancedb?: boolean
  /** Where it is asked until it answers. */
  path?: '/health' | '/ready'
  bun?: readonly string[]
  env?: Record<string, string>
}

export interface Bench {
  sizes: readonly number[]
  /** The size of what is measured at one size only. */
  middle: number
  rows: Row[]
  add(row: Row): Row
  /** A data directory with so many decisions; made once, for reading. */
  seeded(size: number, embedder?: EmbedderName): Promise<string>
  /** A copy that may be written to. */
  scratch(size: number, embedder: EmbedderName): Promise<string>
  /** The program itself on a data directory. */
  server(dir: string, options?: ServerOptions): Promise<Child>
  echo(bytes: number): Promise<Child>
  close(): Promise<void>
}

export async function openBench(sizes: readonly number[], show: (text: string) => void): Promise<Bench> {
  const root = await mkdtemp(join(tmpdir(), 'cstp-bench-'))
  const made = new Map<string, Promise<string>>()
  const running = new Set<Child>()
  const rows: Row[] = []
  let logs = 0
  let copies = 0

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

  async function seed(name: string, size: number, embedder: EmbedderName): Promise<string> {
    const dir = join(root, name)
    const start = performance.now()
    const { id, dimensions } = embedders[embedder]
    await runToEnd('test/bench/entries/seed.ts', [dir, size, id, dimensions])
    show(`(${size} decisions seeded in ${((performance.now() - start) / 1_000).toFixed(1)} s)`)
    return dir
  }

  const bench: Bench = {
    sizes,
    middle: 10_000,
    rows,
    add(row) {
      rows.push(row)
      show(line(row))
      return row
    },
    seeded(size, embedder = 'local') {
      const name = `${embedder}-${size}`
      const known = made.get(name) ?? seed(name, size, embedder)
      made.set(name, known)
      return known
    },
    async scratch(size, embedder) {
      const copy = join(root, `scratch-${copies++}`)
      await cp(await bench.seeded(size, embedder), copy, { recursive: true, preserveTimestamps: true })
      return copy
    },
    server: (dir, { embedder = 'local', lancedb = false, path = '/ready', bun = [], env = {} } = {}) =>
      started(
        startChild({
          script: 'src/main.ts',
          args: () => ['serve'],
          bun,
          env: (port) => ({
            HOME: root,
            CSTP_DATA_DIR: dir,
            CSTP_PORT: String(port),
            CSTP_EMBEDDER: embedder,
            CSTP_AUTH_TOKENS: token,
            CSTP_RATE_LIMIT: '0',
            ...(lancedb && { CSTP_VECTOR_URL: join(dir, 'vectors') }),
            ...env,
          }),
          path,
          log: join(root, `log-${logs++}`),
        }),
      ),
    echo: (bytes) =>
      started(
        startChild({
          script: 'test/bench/entries/echo.ts',
          args: (port) => [port, bytes],
          path: '/',
          log: join(root, `log-${logs++}`),
        }),
      ),
    async close() {
      await Promise.all([...running].map((child) => child.stop()))
      await rm(root, { recursive: true, force: true })
    },
  }
  return bench
}
