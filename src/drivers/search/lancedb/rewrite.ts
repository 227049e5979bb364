/**
 * Writes all rows of a table to new files and indexes them, in a process of its own with a lower priority: for 100 000 rows LanceDB takes
 * half a minute of all cores and 1.5 GB, which it does not give back.
 */
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../../core/log.ts'
import { ownCommand } from '../../shared/program.ts'
import { indexRows } from './indices.ts'
import { load } from './library.ts'
import { rowSchema } from './rows.ts'

export interface Rewriting {
  url: string
  storage_options: Record<string, string>
  /** Name of the table, and the version that is read. */
  name: string
  version: number
  dimensions: number
  /** 0 for no vector indices. */
  indexed_dimensions: number
}

/** Rows copied at once, as LanceDB returned them. */
const copiedAtOnce = 1_000
const watchMs = 1_000

/** @param isWanted rejects once the process is to end @throws Error with what the process said last */
export async function rewriteApart(rewriting: Rewriting, isWanted: () => Promise<void>): Promise<void> {
  const main = join(import.meta.dir, '../../../main.ts')
  const child = Bun.spawn([...ownCommand(main), 'rewrite-index'], { stdin: 'pipe', stdout: 'ignore', stderr: 'pipe' })
  // It stays open, so that the process ends with this one.
  child.stdin.write(`${JSON.stringify(rewriting)}\n`)
  child.stdin.flush()
  const watch = setInterval(() => isWanted().catch(() => child.kill()), watchMs)
  try {
    const [said, status] = await Promise.all([new Response(child.stderr).text(), child.exited])
    if (status === 0) return
    await isWanted()
    throw new Error(said.trim().split('\n').at(-1) || `The process that writes the index ended with ${status}`)
  } finally {
    clearInterval(watch)
  }
}

/** The process itself, which this ends. */
export async function rewriteHere(): Promise<never> {
  setPriority(5)
  const input = console[Symbol.asyncIterator]()
  const { value } = await input.next()
  void input.next().then(() => process.exit(1))
  try {
    const { url, storage_options, name, version, dimensions, indexed_dimensions } = JSON.parse(value) as Rewriting
    const libraries = await load()
    const connection = await libraries.lancedb.connect(url, { storageOptions: storage_options })
    const rows = await connection.openTable(name)
    await rows.checkout(version)
    const copy = await connection.createEmptyTable(name, rowSchema(libraries.arrow, dimensions), { mode: 'overwrite' })
    const count = await rows.countRows()
    for (let at = 0; at < count; at += copiedAtOnce)
      await copy.add(await rows.query().offset(at).limit(copiedAtOnce).toArrow())
    await indexRows(libraries, copy, indexed_dimensions)
  } catch (error) {
    console.error(messageOf(error))
    process.exit(1)
  }
  process.exit(0)
}
