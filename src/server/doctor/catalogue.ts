/** The catalogue against the decisions' files, both ways, and against its vectors. */

import type { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../../config.ts'
import { openExisting } from '../../drivers/sqlite/connect.ts'
import { compareFiles, type FileFinding, type VectorState, vectorState } from '../../drivers/store/sqlite/inspect.ts'
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
