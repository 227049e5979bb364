/** What the tests of the SQLite store share: folders, processes, and a look at files and rows beside the store. */
import { Database } from 'bun:sqlite'
import { afterAll } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { suiteOptions } from '../../../sdk/storage/conformance/store.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'

const made: string[] = []
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true })
})

export function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-sqlite-'))
  made.push(dir)
  return dir
}

export interface Logged {
  level: string
  message: string
}

export const openAt = (dir: string, log: Logged[] = []) =>
  openSqliteStore({ ...suiteOptions, dir, log: (level, message) => log.push({ level, message }) })

export const pathOf = (dir: string, id: string): string =>
  join(dir, 'decisions', id.slice(0, 4), id.slice(5, 7), `${id}.yaml`)

/** Names of all files below `decisions`. */
export const filesIn = (dir: string): string[] =>
  readdirSync(join(dir, 'decisions'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .sort()

/** Runs `work` on the database behind the store's back. */
export function behind<T>(dir: string, work: (db: Database) => T): T {
  const db = new Database(join(dir, 'cstp.db'))
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Differences between rows and files; empty when each decision's file says what its row says. */
export function differences(dir: string): string[] {
  return behind(dir, (db) => {
    const rows = db
      .query<{ id: string; doc: string }, []>(
        'select id, doc from decisions join documents using (num) where gone = 0 order by id',
      )
      .all()
    const found = rows.filter(({ id, doc }) => {
      const { format: _, ...record } = parse(readFileSync(pathOf(dir, id), 'utf8')) as Record<string, unknown>
      return JSON.stringify(record) !== doc
    })
    const strangers = filesIn(dir).length - rows.length
    const [check] = db.query<{ quick_check: string }, []>('PRAGMA quick_check').all()
    return [
      ...found.map(({ id }) => `${id}: file and row differ`),
      ...(strangers === 0 ? [] : [`${strangers} files too many`]),
      ...(check?.quick_check === 'ok' ? [] : ['the database is damaged']),
    ]
  })
}

/** Starts a writer; see `store-writer.ts`. */
export function startWriter(dir: string, args: (number | string)[]) {
  const script = join(import.meta.dir, 'store-writer.ts')
  return Bun.spawn([process.execPath, script, dir, ...args.map(String)], { stdout: 'pipe', stderr: 'inherit' })
}

/** What a process says, line by line. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const text = new TextDecoder()
  for await (const part of stream) {
    const whole = (rest + text.decode(part, { stream: true })).split('\n')
    rest = whole.pop()!
    yield* whole
  }
}
