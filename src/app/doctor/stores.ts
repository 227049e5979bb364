/** The catalogue against the decisions' files, both ways, and against its vectors. */
import type { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readdirSync, rmdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../core/log.ts'
import { migrations as evidenceMigrations } from '../../drivers/evidence/sqlite/migrate.ts'
import { openExisting, versionOf } from '../../drivers/shared/sqlite/connect.ts'
import { compareFiles, type FileFinding, type VectorState, vectorState } from '../../drivers/store/sqlite/inspect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { unfinished } from '../backup/files.ts'
import type { Settings } from '../config/config.ts'
import { evidencePlace, isPostgres } from '../config/config.ts'
import { type Check, error, type Finding, note, warning, word } from './finding.ts'

const again = 'cstp reindex; without a service cstp reindex --local'

/** Runs a look into the catalogue, where there is one. */
function* inCatalogue({ data_dir }: Settings, look: (db: Database) => Iterable<Finding>): Generator<Finding> {
  const path = join(data_dir, 'cstp.db')
  if (!existsSync(path)) return
  const db = openExisting(path)
  try {
    yield* look(db)
  } finally {
    db.close()
  }
}

const told: Record<FileFinding['kind'], (path: string, detail: string) => Finding> = {
  broken: (path, detail) => error(`${path} is broken: ${detail}`, `correct the file, then ${again}`),
  deleted: (path) =>
    warning(`${path} was taken away, and its decision is still answered`, `put it back, or let it go: ${again}`),
  edited: (path) => warning(`${path} was edited and not read again yet`, again),
  new: (path) => warning(`${path} is not in the catalogue yet`, again),
  different: (path) =>
    error(
      `${path} is as it was written, but the catalogue says something else: cstp.db was changed by hand`,
      `add a blank line to the end of the file, then ${again}`,
    ),
  misplaced: (path, detail) => error(`${path} is not looked at in this place`, `move it to ${detail}`),
  owed: (path) =>
    note(`${path} is still to be written`, 'a running service is just doing it; else the next start does'),
  kept: (path) =>
    note(`${path} is a file that was broken when its decision was written again`, 'look at it, then delete it'),
  stale: (path) =>
    note(`${path} is a temporary file`, 'a running service is just writing it; else the next start clears it'),
}

export const checkFiles: Check = {
  name: 'decisions',
  *run(settings) {
    const root = join(settings.data_dir, 'decisions')
    if (settings.store_url !== null || !existsSync(root)) return
    yield* inCatalogue(settings, function* (db) {
      for (const { path, kind, detail } of compareFiles(db, root)) yield told[kind](`decisions/${path}`, detail)
    })
    if (!existsSync(join(settings.data_dir, 'cstp.db')))
      yield note('there is no catalogue', 'the next start makes it of the files')
  },
}

/** What the vectors of a configured embedder are marked with; the model counts too where there is one. */
const marks = ({ embedder, embedding_model }: Settings): string => `${embedder}/${embedding_model ?? ''}`

function* tellVectors(settings: Settings, state: VectorState): Generator<Finding> {
  const { embedder, building, decisions, missing, waiting, error: cause, odd } = state
  if (embedder !== null && !embedder.startsWith(marks(settings)))
    yield error(`the vectors were made by ${embedder}, and the settings name ${marks(settings)}`, again)
  if (odd > 0) yield error(`${odd} vectors have the wrong length, or no decision`, again)
  if (missing > 0)
    yield error(`${missing} of ${decisions} decisions have no vectors: words find them, meaning does not`, again)
  if (waiting > 0)
    yield cause === null
      ? note(`${waiting} of ${decisions} decisions wait for their vectors`, 'a running service makes them')
      : warning(`${waiting} of ${decisions} decisions wait for their vectors: ${cause}`, 'see to the embedder')
  if (building) yield note('a reindex is under way, or was cut off', 'cstp reindex goes on with it')
}

export const checkVectors: Check = {
  name: 'vectors',
  async *run(settings) {
    if (settings.store_url === null) yield* inCatalogue(settings, (db) => tellVectors(settings, vectorState(db)))
    else {
      const { inspectPostgres } = await import('../../drivers/store/postgres/inspect.ts')
      const { vectors } = await inspectPostgres(settings.store_url)
      if (vectors !== null) yield* tellVectors(settings, vectors)
    }
    const { vector_url } = settings
    if (vector_url === null || vector_url.includes('://') || !existsSync(vector_url)) return
    const probe = join(vector_url, `.doctor.${process.pid}.tmp`)
    try {
      mkdirSync(probe)
      rmdirSync(probe)
    } catch {
      yield error(
        `the folder of the vectors can't be written to: ${vector_url}`,
        `chown it, or rm -r ${word(vector_url)}: it is made anew`,
      )
    }
  },
}

// The databases: whole, and of a version that this program knows.

const restore = 'stop the service and restore a backup: cstp restore <folder> --force'

/** @param known versions up to this one can be opened */
function* look(path: string, known: number, otherwise: string): Generator<Finding> {
  if (!existsSync(path)) return
  try {
    const db = openExisting(path)
    try {
      const [first] = db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').all()
      if (first?.quick_check !== 'ok') yield error(`${path} is damaged: ${first?.quick_check}`, otherwise)
      const version = versionOf(db)
      if (version > known)
        yield error(
          `${path} has version ${version}; this program knows versions up to ${known}`,
          'start the newer program',
        )
      if (version < known)
        yield note(
          `${path} has version ${version}; the next start brings it to ${known}`,
          'make a backup before: cstp backup <folder>',
        )
    } finally {
      db.close()
    }
  } catch (thrown) {
    yield error(`${path} can't be read: ${messageOf(thrown)}`, otherwise)
  }
}

async function* lookAtServer(url: string): AsyncGenerator<Finding> {
  const { inspectPostgres } = await import('../../drivers/store/postgres/inspect.ts')
  const { server_version, forgetful, version, known_version } = await inspectPostgres(url)
  for (const name of forgetful)
    yield warning(
      `PostgreSQL ${server_version} runs with ${name} = off: what was acknowledged can be lost`,
      `set ${name} = on and reload the database`,
    )
  if (version === null) yield note('the database has no tables of cstp yet', 'the next start makes them')
  else if (version > known_version)
    yield error(
      `the database has version ${version}; this program knows versions up to ${known_version}`,
      'start the newer program',
    )
  else if (version < known_version)
    yield note(`the database has version ${version}; the next start brings it to ${known_version}`, 'pg_dump it before')
}

export const checkDatabases: Check = {
  name: 'databases',
  async *run(settings) {
    const place = evidencePlace(settings)
    if (settings.store_url !== null) yield* lookAtServer(settings.store_url)
    const catalogue = join(settings.data_dir, 'cstp.db')
    if (settings.store_url === null)
      yield* look(
        catalogue,
        migrations.length,
        `${restore}; without one, move cstp.db away: the next start makes it of the decisions' files, without audit trail and vectors`,
      )
    if (!isPostgres(place)) yield* look(place, evidenceMigrations.length, restore)
  },
}

// The data directory: there, one's own, writable, private, with room, and free of leftovers.

const least = 100e6
const scarce = 1e9

const exists = (path: string) => statSync(path, { throwIfNoEntry: false })

/** A file or folder that others of the machine can read. */
function* exposed(path: string): Generator<Finding> {
  const found = exists(path)
  if (!found || process.platform === 'win32') return
  const mode = found.mode & 0o777
  const wanted = found.isDirectory() ? 0o700 : 0o600
  if ((mode & 0o077) !== 0)
    yield warning(
      `other users of the machine can get at ${path} (mode ${mode.toString(8)})`,
      `chmod ${wanted.toString(8)} ${word(path)}`,
    )
}

function* writable(data_dir: string, owner: number): Generator<Finding> {
  const probe = join(data_dir, `.doctor.${process.pid}.tmp`)
  try {
    mkdirSync(probe)
    rmdirSync(probe)
  } catch (thrown) {
    yield error(`${data_dir} can't be written to: ${messageOf(thrown)}`, `run cstp as its owner, or chown it`)
  }
  const own = process.getuid?.()
  if (own !== undefined && own !== owner)
    yield warning(
      `${data_dir} belongs to user ${owner}, and this is user ${own}`,
      'run cstp as the user of the service; files that root makes, the service could not open',
    )
}

function* room(data_dir: string): Generator<Finding> {
  const { bavail, bsize } = statfsSync(data_dir)
  const free = bavail * bsize
  const text = `${Math.round(free / 1e6)} MB are free on the disk of ${data_dir}`
  if (free < least) yield error(text, 'make room: without it nothing can be recorded')
  else if (free < scarce) yield warning(text, 'make room soon')
}

function* leftovers(data_dir: string): Generator<Finding> {
  if (exists(join(data_dir, unfinished)))
    yield error(`a restore into ${data_dir} was cut off`, 'empty the folder, then cstp restore again')
  for (const name of readdirSync(data_dir))
    if (/^token\..*\.tmp$/.test(name))
      yield note(`${join(data_dir, name)} is left of a start that was cut off`, `rm ${word(join(data_dir, name))}`)
  const parent = dirname(data_dir)
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`.${basename(data_dir)}.`) || !name.endsWith('.partial')) continue
    const path = join(parent, name)
    yield note(`${path} is left of a restore that was cut off`, `rm -r ${word(path)}`)
  }
}

export const checkFolder: Check = {
  name: 'data directory',
  *run({ data_dir, auth_tokens }) {
    const found = exists(data_dir)
    if (!found) {
      yield note(`there is no ${data_dir} yet`, 'cstp serve makes it')
      return
    }
    if (!found.isDirectory()) {
      yield error(`${data_dir} is not a folder`, 'name another one in CSTP_DATA_DIR')
      return
    }
    yield* exposed(data_dir)
    yield* writable(data_dir, found.uid)
    yield* room(data_dir)
    yield* leftovers(data_dir)
    yield* exposed(join(data_dir, 'token'))
    const token = exists(join(data_dir, 'token'))
    if (token?.size === 0)
      yield error('the file token is empty', `rm ${word(join(data_dir, 'token'))}; the next start makes one`)
    if (token && auth_tokens)
      yield note(
        'CSTP_AUTH_TOKENS is set, so the token in the file token is not accepted',
        `rm ${word(join(data_dir, 'token'))}`,
      )
  },
}
