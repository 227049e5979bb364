/** Reads pages of an evidence database as bytes that SQLite joins: a walk over the log then creates no string for each column. */
import type { Database, Statement } from 'bun:sqlite'
import { isUtf8 } from 'node:buffer'
import type { Evidence } from '../../../../sdk/storage/evidence.ts'

/** All columns but the hash, in alphabetical order. */
const hashed = ['event_type', 'evidence_class', 'payload', 'prev_hash', 'seq', 'source', 'ts'] as const
const measured = ['event_type', 'payload', 'source', 'ts'] as const
const texts = ['event_type', 'payload', 'prev_hash', 'source', 'ts', 'hash'] as const

/** The class needs no test of its type: only text equals text. */
const isPlain = [
  ...texts.map((name) => `typeof(${name}) = 'text'`),
  'octet_length(prev_hash) = 64',
  'octet_length(hash) = 64',
  `evidence_class in ('observed', 'attested')`,
].join(' and ')

const joined = [
  ...measured.map((name) => `octet_length(${name}), ' '`),
  ...hashed.map((name, at) => `?${at + 3}, ${name}`),
  `?${hashed.length + 3}, hash`,
].join(', ')

export function packedReader(db: Database): NonNullable<Evidence['packed']> {
  let select: Statement<{ bytes: Uint8Array | null }, [number, number, ...string[]]> | undefined
  return async (seq, end, around) => {
    try {
      // Inside `try`, because an older SQLite, such as that of macOS, has no `concat`; all pages are then read by columns.
      select ??= db.prepare(
        `select cast(group_concat(concat(${joined}), '') as blob) as bytes from events where seq >= ?1 and seq < ?2 and ${isPlain}`,
      )
      // Records below 1 were not written by this program: they belong to the first page.
      const bytes = select.get(seq <= 1 ? Number.NEGATIVE_INFINITY : seq, end, ...around)?.bytes
      return bytes && isUtf8(bytes) ? bytes : null
    } catch {
      return null
    }
  }
}
