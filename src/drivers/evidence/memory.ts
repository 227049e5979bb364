/** Evidence in memory: the reference that tests use, gone with the process. */

import type { Evidence, EvidenceRecord, StoredCheckpoint } from '../../../sdk/storage/evidence.ts'
import { followsHead, noHash } from '../../../sdk/storage/evidence-checks.ts'

export function openMemoryEvidence(): Evidence {
  const records: EvidenceRecord[] = []
  const checkpoints: StoredCheckpoint[] = []
  const head = () => ({ seq: records.length, hash: records.at(-1)?.hash ?? noHash })
  return {
    driver: 'memory',
    head: async () => head(),
    async append(make) {
      const added = make(head())
      followsHead(head(), added)
      records.push(...added.map((record) => ({ ...record })))
      return head()
    },
    read: async (seq, limit) =>
      records.slice(Math.max(0, seq - 1), Math.max(0, seq - 1) + limit).map((record) => ({ ...record })),
    async saveCheckpoint(checkpoint) {
      checkpoints.push({ ...checkpoint })
    },
    checkpoints: async () => checkpoints.map((one) => ({ ...one })),
    close: async () => {},
  }
}
