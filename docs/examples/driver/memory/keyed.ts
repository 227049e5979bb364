/** Keyed records and audit of the memory store, inside a transaction. */
import {
  type AuditEntry,
  type AuditExpiry,
  type AuditRedaction,
  checkRedaction,
  compareText,
  type KeyedRecord,
  type KeyedWriter,
  markMethods,
  redactionEntry,
  retentionEntry,
  StorageError,
  type Verb,
} from '@cstp/client/storage'
import { count, type Layers } from './tables.ts'

/** What JSON keeps of a value; undefined becomes null. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value) ?? 'null')

type Found = KeyedRecord & { collection: string }
const keyOf = (collection: string, key: string): string => JSON.stringify([collection, key])
export const recordOf = ({ key, value, version, expires_ms }: Found): KeyedRecord =>
  plain({ key, value, version, expires_ms })

export const keyedOf = (
  table: { get(name: string): Found | undefined },
  collection: string,
  keys: readonly string[],
): KeyedRecord[] => keys.flatMap((key) => table.get(keyOf(collection, key)) ?? []).map(recordOf)

export function keyedWriter({ keyed }: Layers, verb: Verb): KeyedWriter {
  return {
    get: verb((collection, keys) => keyedOf(keyed, collection, keys)),
    put: verb((collection, key, value, { expires_ms = null, version } = {}) => {
      const stored = keyed.get(keyOf(collection, key))?.version ?? 0
      if (version !== undefined && version !== stored)
        throw new StorageError('conflict', `${collection} ${key} is at version ${stored}, not ${version}`)
      const record = { collection, key, value: value ?? null, version: stored + 1, expires_ms }
      keyed.set(keyOf(collection, key), plain(record))
    }),
    delete: verb((collection, keys) => {
      for (const key of keys) keyed.delete(keyOf(collection, key))
    }),
    expire: verb((collection, now_ms, limit) => {
      const old = [...keyed.entries()]
        .map(([, record]) => record)
        .filter((one) => one.collection === collection && one.expires_ms !== null && one.expires_ms <= now_ms)
        .sort((a, b) => a.expires_ms! - b.expires_ms! || compareText(a.key, b.key))
        .slice(0, limit)
      for (const { key } of old) keyed.delete(keyOf(collection, key))
      return old.map(recordOf)
    }),
  }
}

export function auditWriter(layers: Layers, now: () => number) {
  const append = (entry: AuditEntry): void => {
    const seq = count(layers, 'audit')
    layers.audit.set(seq, plain({ ...entry, detail: entry.detail ?? null, seq }))
  }
  return {
    append,
    expire({ before_ms, keep, limit, at_ms = now() }: AuditExpiry): number {
      const old = [...layers.audit.entries()]
        .filter(([, { at, method }]) => Date.parse(at) < before_ms && ![...keep, ...markMethods].includes(method))
        .sort(([a, x], [b, y]) => Date.parse(x.at) - Date.parse(y.at) || a - b)
        .slice(0, limit)
      if (old.length > 0) append(retentionEntry(old.length, before_ms, at_ms))
      for (const [seq] of old) layers.audit.delete(seq)
      return old.length
    },
    redact({ lines, redacted_by, at_ms = now() }: AuditRedaction): void {
      checkRedaction(lines, redacted_by)
      if (lines.length === 0) return
      const found = lines.map(({ seq }) => layers.audit.get(seq))
      if (found.includes(undefined)) throw new StorageError('not_found', 'an audit entry does not exist')
      append(
        redactionEntry(
          lines.map(({ seq }) => seq),
          redacted_by,
          at_ms,
        ),
      )
      lines.forEach(({ seq, detail }, at) => void layers.audit.set(seq, plain({ ...found[at]!, detail })))
    },
  }
}
