/** Checks the stores: databases, decision files against the catalogue, vectors, erasures and the evidence log. */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { newerData } from '../../core/format.ts'
import { messageOf } from '../../core/log.ts'
import { walkLog } from '../../domain/ledger/engine/walk.ts'
import { evidenceEntries } from '../../domain/ledger/evidence/chain.ts'
import { erasureCollections } from '../../domain/record/decision/tombstone.ts'
import { openSqliteEvidence } from '../../drivers/evidence/sqlite/driver.ts'
import { firstUnindexed } from '../../drivers/evidence/sqlite/lookup.ts'
import { migrations as evidenceMigrations } from '../../drivers/evidence/sqlite/migrate.ts'
import { openExisting, versionOf } from '../../drivers/shared/sqlite/connect.ts'
import {
  compareFiles,
  derivedFlaws,
  type FileFinding,
  keyedCount,
  type VectorState,
  vectorState,
} from '../../drivers/store/sqlite/inspect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { filesBack, lostFiles } from '../../drivers/store/sqlite/repair.ts'
import { evidencePlace, isPostgres, type Settings } from '../config/config.ts'
import { loadDrivers } from '../own-drivers.ts'
import { lostStore, wayOn } from '../thread-mark.ts'
import { type Check, error, type Finding, note, warning } from './finding.ts'

export const again = 'cstp reindex; without a service cstp reindex --local'

/** The catalogue; null if there is none. */
export function openCatalogue({ data_dir }: Pick<Settings, 'data_dir'>): Database | null {
  const path = join(data_dir, 'cstp.db')
  return existsSync(path) ? openExisting(path) : null
}

const fileFindings: Record<FileFinding['kind'], (path: string, detail: string) => Finding> = {
  broken: (path, detail) => error(`${path} is broken: ${detail}`, `correct the file, then ${again}`),
  newer: (path, detail) => error(`${path} is left alone: ${detail}`, 'use the newer program'),
  erased: (path) => error(`${path} is of a decision that was erased`, 'delete the file'),
  deleted: (path) =>
    warning(
      `${path} was deleted, but its decision is still in the catalogue`,
      `restore the file, or remove the decision: ${again}`,
    ),
  hidden: (path) =>
    note(
      `${path} was removed, and its decision is hidden`,
      'cstp repair --files writes it again; cstp call eraseDecision removes the decision for good',
    ),
  edited: (path) => warning(`${path} was edited, and is not reloaded yet`, again),
  new: (path) => warning(`${path} is not in the catalogue yet`, again),
  different: (path) =>
    error(
      `${path} is unchanged, but differs from the catalogue: cstp.db was changed by hand`,
      `add a blank line to the end of the file, then ${again}`,
    ),
  misplaced: (path, detail) => error(`${path} is ignored in this folder`, `move it to ${detail}`),
  stray: (path) =>
    error(
      `${path} is ignored: its name is not the id of a decision`,
      'move it out of decisions/; cstp import records what it says as a decision',
    ),
  pending: (path) => note(`${path} is not written yet`, 'a running service is writing it; else the next start does'),
  kept: (path, detail) =>
    detail === 'edited'
      ? warning(
          `${path} is an edit by hand that is not in the decision: a call had changed it before the file was read`,
          'put into the decision what is right, then delete the copy',
        )
      : note(`${path} is a copy of a ${detail} file whose decision was rewritten`, 'check it, then delete it'),
  stale: (path) =>
    note(`${path} is a temporary file`, 'a running service is writing it; else the next start removes it'),
}

export const checkFiles: Check = {
  name: 'decisions',
  files: ['store'],
  *run(settings) {
    const root = join(settings.data_dir, 'decisions')
    if (settings.store_url !== null) return
    using db = openCatalogue(settings)
    if (db === null) return
    const lost = lostFiles(db, root)
    if (lost !== null) {
      yield error(`${lost}: no server starts`, filesBack)
      return
    }
    for (const what of derivedFlaws(db)) yield error(what, restore)
    if (!existsSync(root)) return
    for (const { path, kind, detail } of compareFiles(db, root)) yield fileFindings[kind](`decisions/${path}`, detail)
  },
}

/** Expected prefix of the id of the embedder that made the vectors: the driver, and the model if one is set. */
const marks = ({ embedder, embedding_model }: Settings): string => `${embedder}/${embedding_model ?? ''}`

function* vectorFindings(settings: Settings, state: VectorState, own: boolean): Generator<Finding> {
  const { embedder, building, decisions, missing, waiting, error: cause, odd } = state
  // Only the built-in embedders identify their vectors by driver and model.
  if (!own && embedder !== null && !embedder.startsWith(marks(settings)))
    yield error(`the vectors are from ${embedder}, but the settings name ${marks(settings)}`, again)
  if (odd > 0) yield error(`${odd} vectors have the wrong length, or no decision`, again)
  if (missing > 0) yield error(`${missing} of ${decisions} decisions have no vectors: only keywords find them`, again)
  if (waiting > 0)
    yield cause === null
      ? note(`${waiting} of ${decisions} decisions wait for their vectors`, 'a running service makes them')
      : warning(`${waiting} of ${decisions} decisions wait for their vectors: ${cause}`, 'fix the embedder')
  if (building) yield note('a reindex is under way, or was interrupted', 'cstp reindex continues it')
}

/** State of the store's vectors; null if there is no store yet. */
export async function vectorsOf(settings: Settings): Promise<VectorState | null> {
  if (settings.store_url !== null) {
    const { inspectPostgres } = await import('../../drivers/store/postgres/inspect.ts')
    return (await inspectPostgres(settings.store_url)).vectors
  }
  using db = openCatalogue(settings)
  return db && vectorState(db)
}

export const checkVectors: Check = {
  name: 'vectors',
  files: ['store'],
  async *run(settings) {
    const own = (await loadDrivers(settings.drivers)).embedder !== undefined
    const state = await vectorsOf(settings)
    if (state !== null) yield* vectorFindings(settings, state, own)
  },
}

const restore = 'stop the service and restore a backup: cstp restore <folder> --force'

/** Checks a database's integrity and version. @param known the newest version that this program can open */
function* checkDatabase(path: string, known: number, otherwise: string): Generator<Finding> {
  if (!existsSync(path)) return
  try {
    using db = openExisting(path)
    const [first] = db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').all()
    if (first?.quick_check !== 'ok') yield error(`${path} is damaged: ${first?.quick_check}`, otherwise)
    const version = versionOf(db)
    if (version > known) yield error(newerData(path, version, known), 'use the newer program')
    if (version < known)
      yield note(
        `${path} has version ${version}; the next start migrates it to ${known}`,
        'back up first: cstp backup <folder>',
      )
  } catch (thrown) {
    yield error(`${path} can't be read: ${messageOf(thrown)}`, otherwise)
  }
}

async function* checkServer(url: string): AsyncGenerator<Finding> {
  const { inspectPostgres } = await import('../../drivers/store/postgres/inspect.ts')
  const { server_version, forgetful, version, known_version, derived } = await inspectPostgres(url)
  for (const name of forgetful)
    yield warning(
      `PostgreSQL ${server_version} runs with ${name} = off: acknowledged writes can be lost`,
      `set ${name} = on and reload the database`,
    )
  for (const what of derived) yield error(what, 'dump the database for the investigation, and restore a backup')
  if (version === null) yield note('the database has no tables of cstp yet', 'the next start creates them')
  else if (version > known_version)
    yield error(newerData('the database', version, known_version), 'use the newer program')
  else if (version < known_version)
    yield note(
      `the database has version ${version}; the next start migrates it to ${known_version}`,
      'pg_dump it first',
    )
}

/** Checks a used folder that lacks its catalogue: data stored only there is lost. */
async function* withoutCatalogue(settings: Settings): AsyncGenerator<Finding> {
  const lost = await lostStore(settings)
  if (lost) {
    yield error(`${lost}: no server starts`, wayOn)
    return
  }
  const place = evidencePlace(settings)
  const left = [join(settings.data_dir, 'decisions'), ...(isPostgres(place) ? [] : [place])].filter(existsSync)
  if (left.length > 0)
    yield warning(
      `cstp.db is missing beside ${left.join(' and ')}: audit trail, breakers, approvals and unfinished deliberations were only in it`,
      `${restore}; without one, the next start rebuilds the catalogue from the decision files, and nothing else`,
    )
}

export const checkDatabases: Check = {
  name: 'databases',
  files: ['store', 'evidence'],
  async *run(settings) {
    const place = evidencePlace(settings)
    if (settings.store_url !== null) yield* checkServer(settings.store_url)
    const catalogue = join(settings.data_dir, 'cstp.db')
    if (settings.store_url === null && !existsSync(catalogue)) yield* withoutCatalogue(settings)
    if (settings.store_url === null)
      yield* checkDatabase(
        catalogue,
        migrations.length,
        `${restore}; without one, move cstp.db away: the next start rebuilds it from the decision files, without audit trail and vectors`,
      )
    if (!isPostgres(place)) yield* checkDatabase(place, evidenceMigrations.length, restore)
  },
}

/** Erasures that are unfinished because a file or the search index still holds some of the data. */
export const checkErasures: Check = {
  name: 'erasures',
  files: ['store'],
  async *run(settings) {
    const { unfinished } = erasureCollections
    using catalogue = openCatalogue(settings)
    const count =
      settings.store_url === null
        ? catalogue && keyedCount(catalogue, unfinished)
        : await (await import('../../drivers/store/postgres/inspect.ts')).keyedCount(settings.store_url, unfinished)
    if (count)
      yield warning(
        `${count} erasures are not finished: files or the search index may still contain what was erased`,
        'a running service finishes them within a minute; else the next start does',
      )
  },
}

const preserve = 'keep the file for the investigation, and restore a backup: cstp restore <folder> --force'

/** Opens the evidence log for reading, if it exists; creates nothing. */
export async function openReader(place: string) {
  if (isPostgres(place)) {
    const { openPostgresEvidenceReader } = await import('../../drivers/evidence/postgres/driver.ts')
    return openPostgresEvidenceReader(place)
  }
  return existsSync(place) ? openSqliteEvidence(place) : null
}

export const checkEvidence: Check = {
  name: 'evidence',
  files: ['evidence'],
  async *run(settings) {
    const place = evidencePlace(settings)
    const evidence = await openReader(place)
    if (evidence === null) return
    try {
      const { flaw } = await walkLog({
        log: evidence,
        reader: evidenceEntries(evidence),
        yieldToEventLoop: () => Bun.sleep(0),
      })
      if (flaw !== null)
        yield error(
          `the chain of evidence is damaged: ${flaw.reason}`,
          isPostgres(place)
            ? 'dump the database for the investigation, and restore a backup with pg_restore'
            : preserve,
        )
      const unindexed = flaw !== null || isPostgres(place) ? null : firstUnindexed(place)
      if (unindexed !== null)
        yield error(
          `record ${unindexed} of the evidence is not in the index of its pull request or delivery: later counts of approvals would miss it`,
          preserve,
        )
    } finally {
      await evidence.close()
    }
  },
}
