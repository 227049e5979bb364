/** The embedded evidence log: an SQLite database of its own that refuses to change or forget a record. */
import type { Evidence } from '../../../../sdk/storage/evidence.ts'
import { storageErrorOf } from '../../shared/sqlite/connect.ts'
import { translating } from '../../shared/translating.ts'
import type { EvidenceReads } from '../rows.ts'
import { committer } from './commit.ts'
import { openReader, openWriter } from './connect.ts'
import { reads } from './read.ts'

/** A commit checkpoints the write-ahead log once it has this many pages: pages are hardly ever written twice, so a longer log saves no work. */
const logPages = 2_000

const translatedReads = translating((error) => storageErrorOf(error, 'cannot read the evidence'))

/**
 * Opens the log, or creates it with its folder, readable only by its owner. A damaged log opens too: `append` refuses if the damage
 * affects the end.
 * @throws StorageError that names the file: `invalid` if it is another database or of a newer program, `unavailable` if it can't be
 * written to, `corrupt` if it is not a database
 */
export async function openSqliteEvidence(path: string): Promise<Evidence> {
  const writer = await openWriter(path)
  try {
    const reader = openReader(path)
    writer.run(`PRAGMA wal_autocheckpoint = ${logPages}`)
    const commits = committer(writer)
    let closing: Promise<void> | undefined
    const close = async () => {
      await commits.end()
      reader.close()
      // Does nothing while other connections are in use; the last one to close empties the write-ahead log.
      writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
      writer.close()
    }
    const read = reads(reader)
    return {
      driver: 'sqlite',
      ...translatedReads<EvidenceReads>({
        ...read,
        async ofPullRequest(pr_number, seq, limit) {
          await commits.indexPayloads()
          return read.ofPullRequest(pr_number, seq, limit)
        },
        async ofCommit(sha, seq, limit) {
          await commits.indexPayloads()
          return read.ofCommit(sha, seq, limit)
        },
      }),
      append: commits.append,
      saveCheckpoint: commits.saveCheckpoint,
      close() {
        closing ??= close()
        return closing
      },
    }
  } catch (error) {
    writer.close()
    throw storageErrorOf(error, `cannot open the evidence database ${path}`)
  }
}

/** The reads with which a thread verifies a log. @throws StorageError `unavailable` if there is none at this path */
export function openSqliteEvidenceReader(
  path: string,
): Pick<Evidence, 'read' | 'hashed' | 'nodes'> & { close(): void } {
  const db = openReader(path)
  const { read, hashed, nodes } = translatedReads(reads(db))
  return { read, hashed, nodes, close: () => db.close() }
}
