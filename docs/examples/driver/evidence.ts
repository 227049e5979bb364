/** An evidence driver: the log in memory. */
import {
  type Evidence,
  type EvidenceRecord,
  followsHead,
  type LedgerHead,
  noHash,
  type StoredCheckpoint,
} from '@cstp/client/storage'

const copy = (record: EvidenceRecord): EvidenceRecord => ({ ...record })
const holds = ({ payload }: EvidenceRecord, field: string, value: string | number): boolean =>
  (JSON.parse(payload) as Record<string, unknown>)[field] === value

const hash = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** Whether it names this commit, or one that begins so if that is no whole hash. */
function namesCommit({ payload }: EvidenceRecord, sha: string): boolean {
  const named = JSON.parse(payload) as Record<string, unknown>
  return [named.sha, named.merge_commit_sha].some(
    (one) => typeof one === 'string' && hash.test(one) && (hash.test(sha) ? one === sha : one.startsWith(sha)),
  )
}

export function openMemoryEvidence(): Evidence {
  const records: EvidenceRecord[] = []
  const nodes = new Map<string, string>()
  const checkpoints: StoredCheckpoint[] = []
  let frontier: readonly string[] = []
  const head = (): LedgerHead => ({ seq: records.length, hash: records.at(-1)?.hash ?? noHash, frontier })
  const page = (seq: number, limit: number) => records.slice(Math.max(0, seq - 1), Math.max(0, seq - 1) + limit)
  return {
    driver: 'memory',
    head: async () => head(),
    async append(make, keys = []) {
      const known = records.filter(
        (record) =>
          record.source.startsWith('webhook:') && keys.some(({ field, value }) => holds(record, field, value)),
      )
      const batch = make(head(), known.map(copy))
      followsHead(head(), batch)
      records.push(...batch.records.map(copy))
      for (const { level, index, hash } of batch.nodes) nodes.set(`${level}/${index}`, hash)
      frontier = [...batch.frontier]
      return head()
    },
    read: async (seq, limit) => page(seq, limit).map(copy),
    ofPullRequest: async (pr_number, seq, limit) =>
      records
        .slice(Math.max(0, seq - 1))
        .filter((record) => holds(record, 'pr_number', pr_number))
        .slice(0, limit)
        .map(copy),
    ofCommit: async (sha, seq, limit) =>
      records
        .slice(Math.max(0, seq - 1))
        .filter((record) => namesCommit(record, sha))
        .slice(0, limit)
        .map(copy),
    hashes: async (seq, limit) => page(seq, limit).map(({ hash }) => hash),
    async nodes(level, index, limit) {
      const found: string[] = []
      for (let at = index; at < index + limit; at++) {
        const hash = nodes.get(`${level}/${at}`)
        if (hash === undefined) break
        found.push(hash)
      }
      return found
    },
    async saveCheckpoint(checkpoint) {
      checkpoints.push({ ...checkpoint })
    },
    checkpoints: async (latest = checkpoints.length) =>
      checkpoints.slice(checkpoints.length - latest).map((one) => ({ ...one })),
    close: async () => {},
  }
}
