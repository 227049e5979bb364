/**
 * What a witness knows: the latest checkpoint that it cosigned of each log, and the pinned key of each address that it looks at, in one SQLite
 * file. A step is one transaction, which is on disk before it is acknowledged. Of two steps, in one process or several, the second one sees
 * the first one's result, so a witness never cosigns two histories of one log, whichever way it gets their checkpoints.
 */
import { Database } from 'bun:sqlite'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface LatestCheckpoint {
  size: number
  /** Lowercase hex. */
  root_hash: string
  /** With the signature of the log and the cosignature of the witness. */
  note: string
}

export interface LatestCheckpoints {
  /** Null before the first one. */
  get(origin: string): LatestCheckpoint | null
  /** Replaces one state by the next. False if the log has another state by now, which is then kept. */
  step(origin: string, from: LatestCheckpoint | null, to: LatestCheckpoint): boolean
  /** All origins with a checkpoint. */
  origins(): string[]
  /** The verifier key of the log at an address; null if it was never looked at. */
  pinned(url: string): string | null
  /** Pins a key, in place of another if `from` is that one. False if another process was faster. */
  pin(url: string, from: string | null, verifier_key: string): boolean
  close(): void
}

const timeout_ms = 5_000

/** @throws Error if the file can't be read */
export async function openLatest(state_dir: string): Promise<LatestCheckpoints> {
  await mkdir(state_dir, { recursive: true, mode: 0o700 })
  const db = new Database(join(state_dir, 'logs.db'))
  // EXTRA also syncs the folder, so that a commit survives a power failure.
  for (const pragma of [`busy_timeout = ${timeout_ms}`, 'journal_mode = DELETE', 'synchronous = EXTRA'])
    db.run(`pragma ${pragma}`)
  db.run(
    'create table if not exists latest (origin text primary key, size integer not null, root_hash text not null, note text not null) strict',
  )
  db.run('create table if not exists pins (url text primary key, verifier_key text not null) strict')
  const find = db.prepare<LatestCheckpoint, [string]>('select size, root_hash, note from latest where origin = ?')
  const first = db.prepare(
    'insert into latest (origin, size, root_hash, note) values (?, ?, ?, ?) on conflict do nothing',
  )
  const next = db.prepare(
    'update latest set size = ?, root_hash = ?, note = ? where origin = ? and size = ? and root_hash = ? and size <= ?',
  )
  const pinned = db.prepare<{ verifier_key: string }, [string]>('select verifier_key from pins where url = ?')
  const firstPin = db.prepare('insert into pins (url, verifier_key) values (?, ?) on conflict do nothing')
  const nextPin = db.prepare('update pins set verifier_key = ? where url = ? and verifier_key = ?')
  const all = db.prepare<{ origin: string }, []>('select origin from latest order by origin')
  return {
    get: (origin) => find.get(origin),
    step(origin, from, { size, root_hash, note }) {
      const { changes } =
        from === null
          ? first.run(origin, size, root_hash, note)
          : next.run(size, root_hash, note, origin, from.size, from.root_hash, size)
      return changes === 1
    },
    origins: () => all.all().map(({ origin }) => origin),
    pinned: (url) => pinned.get(url)?.verifier_key ?? null,
    pin(url, from, key) {
      const { changes } = from === null ? firstPin.run(url, key) : nextPin.run(key, url, from)
      return changes === 1
    },
    close: () => db.close(),
  }
}
