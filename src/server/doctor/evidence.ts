/** The chain of evidence, record by record. */
import { existsSync } from 'node:fs'
import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { recordHash } from '../../domain/evidence/hash.ts'
import { openExisting } from '../../drivers/store/sqlite/backup.ts'
import { evidencePath } from './databases.ts'
import { type Check, error } from './finding.ts'

const page = 2_000

export const checkEvidence: Check = {
  name: 'evidence',
  *run(settings) {
    const path = evidencePath(settings)
    if (!existsSync(path)) return
    const db = openExisting(path)
    try {
      if (db.query("select 1 from sqlite_schema where name = 'events'").get() === null) return
      const after = db.query<EvidenceRecord, [number, number]>(
        'select seq, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq > ? order by seq limit ?',
      )
      let [seq, hash] = [0, '0'.repeat(64)]
      for (let rows = after.all(0, page); rows.length > 0; rows = after.all(seq, page)) {
        for (const record of rows) {
          seq++
          if (record.seq !== seq || record.prev_hash !== hash || record.hash !== recordHash(record)) {
            const what = `the chain of evidence is broken at record ${seq}: it was changed after it was written`
            yield error(
              what,
              'keep the file for those who look into it, and restore a backup: cstp restore <folder> --force',
            )
            return
          }
          hash = record.hash
        }
      }
    } finally {
      db.close()
    }
  },
}
