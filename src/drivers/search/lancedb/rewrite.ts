/**
 * Indexes the rows of a table, or all of them in new files, and removes old files, in a process of its own with a lower priority: for
 * 100 000 rows LanceDB takes half a minute of all cores and 1.5 GB, which it does not give back, and searches of its process wait meanwhile.
 */
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Table } from '@lancedb/lancedb'
import { messageOf } from '../../../core/log.ts'
import { ownCommand } from '../../shared/program.ts'
import { indexRows } from './indices.ts'
import { load } from './library.ts'
import { rowSchema } from './rows.ts'

export interface Indexing {
  url: string
  storage_options: Record<string, string>
  /** Name of the table. */
  name: string
  /** The version whose rows are written to new files; null to index them where they are. */
  rewritten: number | null
  dimensions: number
  /** 0 for no vector indices. */
  indexed_dimensions: number
}

/** What is left once the rows are indexed. */
export interface Indexed {
  /** Removes the files of versions that are older, and brings together small ones. */
  clean(olderThan: Date): Promise<void>
  /** Call it in any case. */
  end(): void
}

/** Rows copied at once, as LanceDB returned them. */
const copiedAtOnce = 1_000
const watchMs = 1_000

/** The same in this process, for small tables. */
export async function indexHere(
  ...[libraries, rows, indexed_dimensions]: Parameters<typeof indexRows>
): Promise<Indexed> {
  await indexRows(libraries, rows, indexed_dimensions)
  return { clean: (olderThan) => clean(rows, olderThan), end() {} }
}

const clean = async (rows: Table, cleanupOlderThan: Date): Promise<void> =>
  void (await rows.optimize({ cleanupOlderThan, deleteUnverified: true }))

/**
 * @param isWanted rejects once the process is to end
 * @throws Error with what the process said last; it has ended then, and ends after {@link Indexed.clean}
 */
export async function indexApart(indexing: Indexing, isWanted: () => Promise<void>): Promise<Indexed> {
  const main = join(import.meta.dir, '../../../main.ts')
  const child = Bun.spawn([...ownCommand(main), 'rewrite-index'], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const watch = setInterval(() => isWanted().catch(() => child.kill()), watchMs)
  const ended = Promise.all([new Response(child.stderr).text(), child.exited]).then(async ([said, status]) => {
    clearInterval(watch)
    if (status === 0) return
    await isWanted()
    throw new Error(said.trim().split('\n').at(-1) || `The process that writes the index ended with ${status}`)
  })
  ended.catch(() => {})
  // Its input stays open, so that the process ends with this one.
  const tell = (line: string) => {
    child.stdin.write(`${line}\n`)
    child.stdin.flush()
  }
  tell(JSON.stringify(indexing))
  const { done } = await child.stdout.getReader().read()
  if (done) await ended
  return {
    clean: (olderThan) => {
      tell(String(olderThan.getTime()))
      return ended
    },
    end: () => child.kill(),
  }
}

/** The process itself, which this ends. */
export async function rewriteHere(): Promise<never> {
  setPriority(5)
  const input = console[Symbol.asyncIterator]()
  const { value } = await input.next()
  const next = input.next().then(({ value }) => (value ? Number(value) : process.exit(1)))
  try {
    const { url, storage_options, name, rewritten, dimensions, indexed_dimensions } = JSON.parse(value) as Indexing
    const libraries = await load()
    const connection = await libraries.lancedb.connect(url, { storageOptions: storage_options })
    let rows = await connection.openTable(name)
    if (rewritten !== null) {
      await rows.checkout(rewritten)
      const copy = await connection.createEmptyTable(name, rowSchema(libraries.arrow, dimensions), {
        mode: 'overwrite',
      })
      const count = await rows.countRows()
      for (let at = 0; at < count; at += copiedAtOnce)
        await copy.add(await rows.query().offset(at).limit(copiedAtOnce).toArrow())
      rows = copy
    }
    const indexed = await indexHere(libraries, rows, indexed_dimensions)
    process.stdout.write('indexed\n')
    await indexed.clean(new Date(await next))
  } catch (error) {
    console.error(messageOf(error))
    process.exit(1)
  }
  process.exit(0)
}
