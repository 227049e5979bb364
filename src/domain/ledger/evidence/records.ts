/** Reads the records of the evidence log: in pages, and for a walk, which checks that each follows the one before it. */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import type { Flaw, PieceReader } from '../engine/walk.ts'
import { recordHash } from './hash.ts'

type Reader = Pick<Evidence, 'read' | 'nodes'>

/** Why a record does not follow `prev`; null if it does. */
function flawOf(record: EvidenceRecord, seq: number, prev: string | null): string | null {
  if (record.seq !== seq) return `record ${record.seq} is in the place of record ${seq}`
  if (record.evidence_class !== 'observed' && record.evidence_class !== 'attested')
    return `record ${seq} has an invalid evidence class`
  if (prev !== null && record.prev_hash !== prev) return `record ${seq} does not name the hash of the record before it`
  if (recordHash(record) !== record.hash) return `record ${seq} does not match its hash`
  return null
}

/** Reads a page, or as much of it as can be read. */
async function readPage(
  reader: Reader,
  from: number,
  limit: number,
): Promise<{ records: EvidenceRecord[]; flaw: Flaw | null }> {
  try {
    return { records: await reader.read(from, limit), flaw: null }
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    if (limit === 1)
      return { records: [], flaw: { seq: Math.max(1, from), reason: `record ${Math.max(1, from)} can’t be read` } }
  }
  const half = Math.floor(limit / 2)
  const first = await readPage(reader, from, half)
  if (first.flaw) return first
  const second = await readPage(reader, Math.max(1, from) + half, limit - half)
  return { records: [...first.records, ...second.records], flaw: second.flaw }
}

/** What the first record says is the hash before it, if it is right itself. */
const first = (hashes: readonly string[], records: readonly EvidenceRecord[]): string | null =>
  hashes.length === 0 ? null : records[0]!.prev_hash

/** The records of the log as the entries of a walk. */
export const evidenceEntries = (reader: Reader): PieceReader => ({
  isChained: true,
  nodes: (level, index, limit) => reader.nodes(level, index, limit),
  async page(seq, limit, prev) {
    // The first page is read from 0 on, so that a record below 1 is detected.
    const { records, flaw } = await readPage(reader, seq === 1 ? 0 : seq, limit)
    const hashes: string[] = []
    for (const record of records) {
      const reason = flawOf(record, seq + hashes.length, hashes.at(-1) ?? prev)
      if (reason !== null) return { hashes, first_prev: first(hashes, records), flaw: { seq: record.seq, reason } }
      hashes.push(record.hash)
    }
    return { hashes, first_prev: first(hashes, records), flaw }
  },
})

const pageSize = 1_000

/** The records up to number `size`, in pages; ends early if one is missing at the end. */
export async function* recordPages(evidence: Pick<Evidence, 'read'>, size: number): AsyncGenerator<EvidenceRecord[]> {
  for (let next = 1; next <= size; ) {
    const page = await evidence.read(next, Math.min(pageSize, size - next + 1))
    const last = page.at(-1)
    if (!last || last.seq < next) return
    yield page.filter(({ seq }) => seq <= size)
    next = last.seq + 1
  }
}
