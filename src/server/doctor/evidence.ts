/** The chain of evidence, record by record. */
import { existsSync } from 'node:fs'
import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import { recordHash } from '../../domain/evidence/hash.ts'
import { openExisting } from '../../drivers/store/sqlite/backup.ts'
import { evidencePath } from './databases.ts'
import { type Check, error } from './finding.ts'

const page = 2_000

/** What is wrong with the chain in a database; null where it is whole. */
function flawOf(path: string): string | null {
  const db = openExisting(path)
  try {
    const after = db.query<EvidenceRecord, [number, number]>(
      'select seq, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq > ? order by seq limit ?',
    )
    // Before the walk: what is appended meanwhile is left to the next time.
    const head = db.query<{ seq: number; hash: string }, []>('select seq, hash from head').get()
    let [seq, hash, atHead] = [0, noHash, noHash]
    for (let rows = after.all(0, page); rows.length > 0; rows = after.all(seq, page)) {
      for (const record of rows) {
        seq++
        if (record.seq !== seq || record.prev_hash !== hash || record.hash !== recordHash(record))
          return `the chain of evidence is broken at record ${seq}: it was changed after it was written`
        hash = record.hash
        if (seq === head?.seq) atHead = hash
      }
    }
    if (head && (seq < head.seq || atHead !== head.hash))
      return `the chain of evidence was cut off: it ends at record ${seq}, its head says ${head.seq}`
    return null
  } finally {
    db.close()
  }
}

export const checkEvidence: Check = {
  name: 'evidence',
  *run(settings) {
    const path = evidencePath(settings)
    const flaw = existsSync(path) ? flawOf(path) : null
    if (flaw !== null)
      yield error(flaw, 'keep the file for those who look into it, and restore a backup: cstp restore <folder> --force')
  },
}
