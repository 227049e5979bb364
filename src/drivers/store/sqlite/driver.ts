/** The embedded store: a YAML file for each decision, with `cstp.db` beside them. Opens it and connects its parts. */
import { closeSync, fdatasync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eraserOf } from '../../../../sdk/storage/erasure.ts'
import { verbsOf } from '../../../../sdk/storage/members.ts'
import type { Appended, Store, StoreOptions, Transaction } from '../../../../sdk/storage/store.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import { storageErrorOf } from '../../shared/sqlite/connect.ts'
import { translating } from '../../shared/translating.ts'
import { committer } from './commit.ts'
import { connect, statementsOf } from './connect.ts'
import { auditReader, auditWriter, keyedReader, keyedWriter } from './coordination.ts'
import { decisionTable, decisionWriter } from './decisions.ts'
import { embeddingWriter, feedReader } from './embeddings.ts'
import { follow } from './follow.ts'
import { pendingFiles } from './pending-files.ts'
import { placer } from './placing.ts'
import { decisionReader, edgeReader } from './read.ts'
import { reconciler } from './reconcile.ts'
import { refuseLostFiles } from './repair.ts'
import { remaining, scrubber } from './scrub.ts'
import { surveyor } from './survey.ts'
import { newestReader, threadReader, threadWriter } from './thread.ts'

/** A store with more decisions answers calls before its files are compared. */
const mostAtStart = 20_000

export interface SqliteStoreOptions extends StoreOptions {
  /** Above this number of decisions, files are compared while calls are already answered. */
  most_at_start?: number
  /** The process exits when its work is done: it compares the files of a large store only on request. */
  brief?: boolean
  /** The write-ahead log is checkpointed once it has this many pages. */
  log_pages?: number
  /** The folder of `cstp.db` and `decisions/`, which are created if missing. */
  dir: string
  log?: LogWriter
}

/**
 * Opens the store, imports file changes made while it was closed, and resolves when it is ready.
 * @throws StorageError `unavailable` if the folder can't be written to, `invalid` if a newer program created the database
 */
export async function openSqliteStore({
  dir,
  log = () => {},
  analyse,
  now,
  most_at_start = mostAtStart,
  log_pages,
  brief = false,
}: SqliteStoreOptions): Promise<Store> {
  const root = join(dir, 'decisions')
  const { writer, reader, log: walFile } = await connect(dir, log_pages)
  const writing = statementsOf(writer)
  const reading = statementsOf(reader)
  const disconnect = () => {
    reading.finalize()
    writing.finalize()
    reader.close()
    writer.close()
    closeSync(walFile)
    scrubbing?.close()
  }
  let scrubbing: ReturnType<typeof scrubber> | undefined
  try {
    refuseLostFiles(writer, root)
    const pending = pendingFiles(writer, writing, root)
    const unwritten = await pending.settleAll()
    const followed = follow(reading)
    const placing = placer({
      db: writer,
      statements: writing,
      root,
      log,
      writePending: pending.write,
      unwritten,
    })
    const syncLog = () => promisify(fdatasync)(walFile)
    const commits = committer({ db: writer, syncLog, statements: writing, root, placing })
    const table = decisionTable({ statements: writing, group: commits.group, analyse })
    const sizes = reading.prepare<{ decisions: number }, []>(
      'select count(*) as decisions from decisions where gone = 0',
    )
    const isLarge = sizes.get()!.decisions > most_at_start
    const look = surveyor(writing, root)
    const files = reconciler({ statements: writing, root, table, commits, pending, look, now, log })
    const writers = {
      decisions: decisionWriter(writing, table),
      embeddings: embeddingWriter(writing, table),
      keyed: keyedWriter(writing),
    }
    const trail = auditWriter(writing, now)
    const thread = threadWriter(writing)
    const newest = newestReader(writing)
    const reads = translating((error) => storageErrorOf(error, 'cannot read'))
    scrubbing = scrubber(writer, commits)
    const { scrub } = scrubbing
    const since = feedReader(reading)
    let closing: Promise<void> | undefined
    const close = async () => {
      files.stop()
      await first
      await scrubbing?.stop()
      await commits.close()
      // If other processes use the database, the log is left for them to clear.
      writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
      disconnect()
    }
    const surveyFailed = (error: unknown) =>
      log('error', 'the decision files could not be checked; cstp reindex checks them again', {
        error: messageOf(error),
      })
    // Comparing a hundred thousand files takes seconds: it runs concurrently with the first calls, or not at all if the process exits soon.
    const first = !isLarge ? await files.reconcile() : brief ? undefined : files.reconcile().catch(surveyFailed)

    return {
      driver: 'sqlite',
      decision_files: true,
      decisions: reads(decisionReader(reading, followed)),
      edges: reads(edgeReader(reading)),
      keyed: reads(keyedReader(reading)),
      feed: reads({ head: async () => followed.head(), since: async (...query) => since(...query) }),
      audit: reads(auditReader(reading)),
      thread: reads(threadReader({ reading, writing, commits })),
      transaction: (work) =>
        commits.run((member) => {
          const verb = verbsOf(member, (error) => storageErrorOf(error, 'cannot write'))
          const decisions = writers.decisions(member, verb)
          const tx: Transaction = {
            decisions,
            embeddings: writers.embeddings(member, verb),
            keyed: writers.keyed(verb),
            thread: { newest: verb(newest) },
            append: verb(({ audit = [], acts = [] }: Appended) => {
              for (const entry of audit) trail.append(entry)
              thread.append(acts)
            }),
            erase: eraserOf({
              decision: decisions.erase,
              acts: verb(thread.erase),
              audit: verb(trail.redact),
              expired: verb(trail.expire),
            }),
          }
          return work(tx)
        }),
      async reconcile() {
        await first
        refuseLostFiles(reader, root)
        return files.reconcile()
      },
      async scrub() {
        // The next commit retries files that an earlier one could not write or remove.
        await commits.run(async () => {})
        await commits.settle()
        const left = await remaining(pending.left)
        // Every page is looked at: do that once, when nothing else is left.
        return left.length > 0 ? left : await scrub()
      },
      close() {
        closing ??= close()
        return closing
      },
    }
  } catch (error) {
    disconnect()
    throw storageErrorOf(error, `cannot open the data directory ${dir}`)
  }
}
