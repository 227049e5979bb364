/** Decisions inside a transaction. */

import { eq, or } from 'drizzle-orm'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { reasonSums } from '../../../../sdk/storage/counted.ts'
import { edgesOf } from '../../../../sdk/storage/edges.ts'
import type { Erasers } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type {
  CountFilter,
  DecisionFields,
  DecisionWriter,
  GroupKey,
  StoreOptions,
} from '../../../../sdk/storage/store.ts'
import { groupRows } from './groups.ts'
import { readStored } from './read.ts'
import { decisions } from './schema.ts'
import { dropSpellings } from './statements.ts'
import { type Access, keyOf } from './transaction.ts'

const idsWithSourceKey = async (access: Access, source_key: string): Promise<string[]> => {
  const rows = await access.read([keyOf.source(source_key), keyOf.anySource], (db) =>
    db.select({ id: decisions.id }).from(decisions).where(eq(decisions.source_key, source_key)),
  )
  return rows.map(({ id }) => id)
}

export function decisionWriter(
  access: Access,
  analyse: StoreOptions['analyse'],
): DecisionWriter & { erase: Erasers['decision'] } {
  const { verb } = access
  const taken = ({ id }: DecisionRecord) =>
    new StorageError('conflict', `the id or source key of decision ${id} is taken`)

  /** The stored revision, which must be `revision` unless that is null. */
  async function requireRevision(id: string, revision: number | null): Promise<void> {
    const [stored] = await access.read([keyOf.decision(id)], (db) =>
      db.select({ revision: decisions.revision }).from(decisions).where(eq(decisions.id, id)),
    )
    if (!stored) throw new StorageError('not_found', `there is no decision ${id}`)
    if (revision !== null && stored.revision !== revision)
      throw new StorageError('conflict', `decision ${id} is at revision ${stored.revision}, not ${revision}`)
  }

  return {
    get: verb((ids: readonly string[]) => access.read(ids.map(keyOf.decision), (db) => readStored(db, ids))),
    groups: verb((filter: CountFilter, by: readonly GroupKey[]) =>
      access.read([keyOf.anyDecision], (db) => groupRows(db, filter, by)),
    ) as DecisionWriter['groups'],
    find: verb(({ source_key }: { source_key: string }) => idsWithSourceKey(access, source_key)),
    put: verb(async (record: DecisionRecord, replaces: number, revision = replaces + 1) => {
      const { id, source_key } = record
      const fields = filterFields(record, false)
      const row = rowOf(record, fields, revision, analyse(record))
      const source = source_key === null ? [] : [keyOf.source(source_key)]
      const keys = [keyOf.decision(id), keyOf.anyDecision, ...source]
      if (replaces === 0) {
        const found = await access.read([keyOf.decision(id), ...source, keyOf.anySource], (db) =>
          db
            .select({ id: decisions.id })
            .from(decisions)
            .where(or(eq(decisions.id, id), source_key === null ? undefined : eq(decisions.source_key, source_key)))
            .limit(1),
        )
        if (found.length > 0) throw taken(record)
        access.write(keys, ({ insertDecision }) => insertDecision(row))
      } else {
        await requireRevision(id, replaces)
        const holders = source_key === null ? [] : await idsWithSourceKey(access, source_key)
        if (holders.some((holder) => holder !== id)) throw taken(record)
        access.write([...keys, keyOf.anySource], ({ replaceDecision }) => replaceDecision(row))
        access.write([], ({ deleteEdges }) => deleteEdges(id))
        access.write([], ({ deleteReasons }) => deleteReasons(id))
      }
      writeParts(access, record, fields)
      access.changed(id)
    }),
    erase: verb(async (id: string, revision: number | null) => {
      await requireRevision(id, revision)
      const keys = [keyOf.decision(id), keyOf.anyDecision, keyOf.anySource, keyOf.erased(id)]
      access.write(keys, ({ send }) => send((db) => db.execute(dropSpellings(id))))
      access.write([], ({ deleteVectors }) => deleteVectors(id))
      access.write([], ({ deleteReasons }) => deleteReasons(id))
      access.write([], ({ deleteEdges }) => deleteEdges(id))
      access.write([], ({ send }) => send((db) => db.delete(decisions).where(eq(decisions.id, id))))
      access.changed(id)
    }),
  }
}

/** The columns of a record. */
export function rowOf(
  record: DecisionRecord,
  fields: DecisionFields,
  revision: number,
  terms: string,
): typeof decisions.$inferInsert {
  const { indexed: _, ...columns } = fields
  return { ...columns, revision, source_key: record.source_key, terms, doc: JSON.stringify(record) }
}

/** Writes the reasons, spellings and edges of a decision, which has none yet. */
function writeParts(access: Access, record: DecisionRecord, fields: DecisionFields): void {
  const { id } = record
  for (const { reason: type, ...sums } of reasonSums(record.reasons))
    access.write([], ({ insertReason }) => insertReason({ id, type, ...sums }))
  for (const spelling of spellingsOf(fields)) access.write([], ({ insertSpelling }) => insertSpelling(spelling))
  for (const edge of edgesOf(record)) access.write([], ({ insertEdge }) => insertEdge(edge))
}

/** The texts of a decision that differ from their skeleton: few, and mostly known. */
function spellingsOf({ category, project, feature, tags }: DecisionFields) {
  const texts = [
    ['category', category],
    ['project', project],
    ['feature', feature],
    ...tags.map((tag) => ['tag', tag] as const),
  ] as const
  return texts.flatMap(([field, value]) => {
    const look = value === null ? null : skeleton(value)
    return look === null || look === value ? [] : { field, look, value: value! }
  })
}
