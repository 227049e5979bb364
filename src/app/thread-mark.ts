/**
 * The high-water mark of the thread: a signed checkpoint in a file beside the key. If the store or the evidence log was deleted
 * or replaced by an older copy, it contradicts the mark or the other of the two, and nothing starts.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { ThreadReads } from '../../sdk/storage/thread.ts'
import { replaceFile } from '../core/disk.ts'
import { causeOf, describeError, type Log } from '../core/log.ts'
import { startPeriodicJob } from '../core/periodic-job.ts'
import { type Checkpoint, checkpointText, parseCheckpoint } from '../domain/ledger/engine/checkpoints.ts'
import { NoteError, openNote, parseNote, parseVerifier, type Signer } from '../domain/ledger/engine/note.ts'
import { rootOf } from '../domain/ledger/engine/tree.ts'
import { startFlaw } from '../domain/ledger/thread/examine/start.ts'
import { evidencePlace, isPostgres, type Settings } from './config/config.ts'
import { later } from './lifecycle.ts'
import { foreignPorts, type PortWithFiles } from './own-drivers.ts'

/** How often the mark is updated: acts since the last update could be undone unnoticed if the program dies. */
const every_ms = 10_000

export const markPath = (data_dir: string): string => join(data_dir, 'keys', 'thread.mark')

/** A mark, and the signed note it was read from. */
export interface Mark extends Checkpoint {
  note: string
}

/** The mark of a data directory; null if there is none yet. @throws Error naming the file if it can't be read */
export async function readMark(data_dir: string): Promise<Mark | null> {
  const path = markPath(data_dir)
  try {
    const note = await readFile(path, 'utf8')
    return { ...parseCheckpoint(parseNote(note).text), note }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(
      `${path}, the mark of how far the ledger was, can't be read: ${causeOf(error)}. Restore it from a backup`,
    )
  }
}

const isOf = (note: string, signer: Signer): boolean => {
  try {
    return openNote(note, [parseVerifier(signer.verifier_key)]).verified.length > 0
  } catch (error) {
    if (error instanceof NoteError) return false
    throw error
  }
}

/** What to do about a store or log that is older than the mark. */
export const wayOn =
  'Put the newer file back, or restore a backup: cstp restore <folder> --force. If it is lost for good, move keys/evidence.pem away and run cstp evidence new-key: it goes on under a new identity, since one that has signed a history must not sign another, and says so in the audit trail'

const storeName = ({ store_url, data_dir }: Settings, foreign: readonly PortWithFiles[]): string =>
  foreign.includes('store')
    ? 'the store of CSTP_DRIVERS'
    : store_url === null
      ? join(data_dir, 'cstp.db')
      : 'the database of CSTP_STORE_URL'
const evidenceName = (settings: Settings, foreign: readonly PortWithFiles[]): string => {
  if (foreign.includes('evidence')) return 'the evidence of CSTP_DRIVERS'
  const place = evidencePlace(settings)
  return isPostgres(place) ? 'the database of the evidence' : place
}

/** The problem if the store is missing although the thread had entries; else null. */
export async function lostStore(settings: Settings): Promise<string | null> {
  const { store_url, data_dir } = settings
  const path = join(data_dir, 'cstp.db')
  if (store_url !== null || existsSync(path) || (await foreignPorts(settings)).includes('store')) return null
  const size = (await readMark(data_dir))?.size ?? 0
  return size === 0 ? null : `${path} is missing, and the ledger in it had ${size} entries`
}

/** @throws Error if the store was deleted, before a new one is created in its place */
export async function refuseLostStore(settings: Settings): Promise<void> {
  const lost = await lostStore(settings)
  if (lost) throw new Error(`${lost}. ${wayOn}`)
}

/** A mark is written within seconds of the first entries. */
const marked_ms = 60_000

export const wayOnWithoutMark =
  'nothing shows any more whether the ledger was set back to an earlier state: compare its size with the checkpoint of a witness, or with a backup; the service writes a new mark'

/** The problem if the mark is missing although the ledger has entries that it covered; else null. Other servers of a database may be new. */
export async function lostMark(
  settings: Settings,
  mark: Mark | null,
  thread: Pick<ThreadReads, 'head' | 'read'>,
  now_ms: number,
): Promise<string | null> {
  if (mark !== null || settings.store_url !== null || (await foreignPorts(settings)).includes('store')) return null
  const { seq } = await thread.head()
  const [first] = seq === 0 ? [] : await thread.read({ from: 1, limit: 1 })
  if (first === undefined || now_ms - Date.parse(first.at) < marked_ms) return null
  return `${markPath(settings.data_dir)} is missing, although the ledger has ${seq} entries`
}

/** A contradiction between thread, evidence log and mark, naming the file; null if they agree. */
export async function contradiction(
  settings: Settings,
  sources: Pick<Store, 'keyed'> & { thread: ThreadReads; evidence: Evidence | Pick<Evidence, 'head' | 'hashes'> },
  mark: Mark | null,
): Promise<string | null> {
  const flaw = await startFlaw(sources, mark)
  const foreign = await foreignPorts(settings)
  return (
    flaw && `${flaw.log === 'thread' ? storeName(settings, foreign) : evidenceName(settings, foreign)}: ${flaw.what}`
  )
}

/**
 * Refuses to start on a thread that lacks earlier entries, or that another key signed.
 * @throws Error naming the file, and what to do
 */
export async function checkStart(
  settings: Settings,
  { store, evidence, signer, log }: { store: Store; evidence: Evidence; signer: Signer; log: Log },
): Promise<void> {
  const read = await readMark(settings.data_dir)
  const lost = await lostMark(settings, read, store.thread, Date.now())
  if (lost) log('warn', lost, { fix: wayOnWithoutMark })
  const own = read !== null && isOf(read.note, signer)
  const [last] = await store.thread.checkpoints(1)
  const adopted = last !== undefined && isOf(last.note, signer)
  // This data directory may not know yet that another server's operator adopted a new key.
  if ((read !== null && read.size > 0 && !own && !adopted) || (last !== undefined && !adopted)) {
    const origin = last && !adopted ? parseCheckpoint(parseNote(last.note).text).origin : read!.origin
    throw new Error(
      `the ledger was signed by ${origin}, but the key of ${signer.name} is in use. Restore the former key (keys/ of a backup, or CSTP_EVIDENCE_KEY); without it, cstp evidence new-key begins a new identity`,
    )
  }
  const found = await contradiction(settings, { ...store, evidence }, own ? read : null)
  if (found) throw new Error(`${found}. ${wayOn}. cstp doctor examines the rest`)
}

/** Writes the thread's current size and root to the mark. @returns the size */
export async function writeMark(data_dir: string, thread: Pick<ThreadReads, 'head'>, signer: Signer): Promise<number> {
  const { seq: size, frontier } = await thread.head()
  const text = checkpointText({ origin: signer.name, size, root_hash: rootOf(frontier) })
  await replaceFile(markPath(data_dir), signer.sign(text))
  return size
}

/** Keeps the mark up to date with the thread until closed. */
export function followThread(data_dir: string, thread: Pick<ThreadReads, 'head'>, signer: Signer, log: Log) {
  let marked = 0
  let failing = false
  const work = async (): Promise<number> => {
    if ((await thread.head()).seq > marked) marked = await writeMark(data_dir, thread, signer)
    failing = false
    return 0
  }
  const failed = (error: unknown) => {
    if (!failing) log('warn', 'the mark of the ledger could not be written; it will be retried', describeError(error))
    failing = true
  }
  const rounds = startPeriodicJob({ every_ms, after: later, failed, work })
  return {
    async close() {
      await rounds.close()
      await work().catch(failed)
    },
  }
}
