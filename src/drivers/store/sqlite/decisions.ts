/** Decisions inside a write transaction: row, document, terms, edges and pending file. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { decisionFields, type Field } from '../../../../sdk/schema/decision-fields.ts'
import { reasonSums } from '../../../../sdk/storage/counted.ts'
import { edgesOf } from '../../../../sdk/storage/edges.ts'
import type { Erasers } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import type { Verb } from '../../../../sdk/storage/members.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { DecisionFields, DecisionWriter, StoredText } from '../../../../sdk/storage/store.ts'
import { recordText } from '../../../core/canonical.ts'
import { isUniqueViolation } from '../../shared/sqlite/connect.ts'
import type { Group, SqliteMember } from './commit.ts'
import type { Statements } from './connect.ts'
import { type FileState, fileStates } from './files.ts'
import { groupReader } from './groups.ts'
import { recordFile } from './parse.ts'
import { decisions } from './schema.ts'

// Rows, and the fields that filters see.

const fields = Object.entries<Field>(decisionFields)

/** Columns of `decisions d` that {@link fieldsOfRow} reads. */
export const fieldColumns = fields.map(([name]) => `d.${name}`).join(', ')

/** The same columns, for a query that is built. */
export const fieldSelection = Object.fromEntries(
  fields.map(([name]) => [name, decisions[name as keyof DecisionFields]]),
) as Pick<typeof decisions, keyof DecisionFields>

/** The columns as SQLite has them: booleans as 0 or 1, lists as JSON. */
export type FieldRow = Record<keyof DecisionFields, string | number | null>

export const fieldsOfRow = (row: FieldRow): DecisionFields =>
  Object.fromEntries(
    fields.map(([name, { type }]) => {
      const value = row[name as keyof DecisionFields]
      return [name, type === 'boolean' ? value === 1 : type === 'texts' ? JSON.parse(value as string) : value]
    }),
  ) as DecisionFields

/** The columns that are written with a record: all but the id, and what the vectors determine. */
export const fieldNames = fields.flatMap(([name]) => (name === 'id' || name === 'indexed' ? [] : [name]))

/** Values for {@link fieldNames}. */
export const fieldValues = (given: DecisionFields): (string | number | null)[] =>
  fieldNames.map((name) => {
    const value = given[name as keyof DecisionFields]
    return typeof value === 'boolean' ? Number(value) : Array.isArray(value) ? JSON.stringify(value) : (value as string)
  })

/**
 * True if the active generation has vectors of `d`, determined from the vectors themselves: the value for `indexed`. A cross join fixes the
 * order: one row of generations, then the index on embeddings.
 */
export const holdsVectors = `exists (select 1 from generations g cross join embeddings e on e.generation = g.number
  where g.state = 'active' and e.num = d.num)`

interface Row {
  num: number
  revision: number
  gone: number
}

/** The decision tables, for transactions and for reconciliation with the files. */
export interface DecisionTable {
  find(id: string): Row | null
  get(id: string): StoredText | null
  ofSource(source_key: string): string[]
  /** @throws StorageError `conflict` if the id or the source key is taken */
  insert(record: DecisionRecord, revision: number): number
  /** Also restores a hidden decision. @throws StorageError `conflict` if the source key is taken */
  replace(num: number, record: DecisionRecord, revision: number): void
  /** Updates the `indexed` column after the vectors changed. */
  mark(num: number): void
  /** Like {@link mark}, and gives the decision the next number in the feed. */
  touch(num: number): void
  /** Hides the decision from all reads. */
  hide(id: string, num: number): void
  /** Deletes everything but the id. */
  erase(id: string, num: number): void
  setFile(num: number, state: FileState): void
}

export interface TableOptions {
  statements: Statements
  group: Group
  analyse(record: DecisionRecord): string
}

type Spelled = Pick<DecisionFields, 'category' | 'project' | 'feature' | 'tags'>

/** Columns of `decisions d` and `documents c` for a {@link GetRow}. */
export const storedColumns = 'd.id, d.agent, d.created_ms, d.revision, d.indexed, c.doc as json'

export type GetRow = Omit<StoredText, 'indexed'> & { indexed: number }

export const storedOf = (row: GetRow): StoredText => ({ ...row, indexed: row.indexed === 1 })

export const oneSql = `select ${storedColumns} from decisions d cross join documents c on c.num = d.num
  where d.id = ? and d.gone = 0`

export function decisionTable({ statements, group, analyse }: TableOptions): DecisionTable {
  const { prepare } = statements
  const find = prepare<Row, [string]>('select num, revision, gone from decisions where id = ?')
  const get = prepare<GetRow, [string]>(oneSql)
  const ofSource = prepare<{ id: string }, [string]>('select id from decisions where source_key = ? and gone = 0')
  const insert = prepare<{ num: number }>(
    `insert into decisions (id, revision, seq, source_key, ${fieldNames.join(', ')})
     values (?, ?, ?, ?${', ?'.repeat(fieldNames.length)}) returning num`,
  )
  const update = prepare<unknown>(
    `update decisions set revision = ?, gone = 0, seq = ?, source_key = ?,
     ${fieldNames.map((name) => `${name} = ?`).join(', ')} where num = ?`,
  )
  const mark = prepare<unknown, [number]>(`update decisions as d set indexed = ${holdsVectors} where num = ?`)
  const touch = prepare<unknown, [number, number]>(
    `update decisions as d set seq = ?, indexed = ${holdsVectors} where num = ?`,
  )
  const hide = prepare<unknown, [number, number]>(
    'update decisions set gone = 1, source_key = null, seq = ? where num = ?',
  )
  const empty = prepare<unknown, [number, number]>(
    `update decisions set gone = 2, source_key = null, seq = ?, category = null, confidence = null, stakes = 'low', status = 'pending',
     outcome = null, project = null, feature = null, pr = null, tags = '[]', agent = '', confidence_at_record = null, settled_by = null,
     preserve = 0, reviewed_ms = null, review_by_ms = created_ms, updated_ms = created_ms, indexed = 0,
     file_size = -1, file_mtime = 0, file_hash = '' where num = ?`,
  )
  const dropDocument = prepare<unknown, [number]>('delete from documents where num = ?')
  const dropVectors = prepare<unknown, [number]>(
    'delete from embeddings where num = ? and generation in (select number from generations)',
  )
  const queueRemoval = prepare<unknown, [number]>('insert or replace into pending_files (num, revision) values (?, -1)')
  const putDocument = prepare<unknown, [number, string]>('insert or replace into documents (num, doc) values (?, ?)')
  const putTerms = prepare<unknown, [number, string]>(
    `insert into search_terms (num, terms) values (?, ?)
     on conflict (num) do update set terms = excluded.terms where terms <> excluded.terms`,
  )
  const dropEdges = prepare<unknown, [string]>('delete from edges where source_id = ?')
  const addEdge = prepare<unknown>(
    `insert into edges (source_id, target_id, edge_type, weight, context, created_at, created_by, effective)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const dropReasons = prepare<unknown, [number]>('delete from reasons where num = ?')
  const addReason = prepare<unknown, [number, string, number, number]>(
    'insert into reasons (num, type, uses, strength) values (?, ?, ?, ?)',
  )
  const tagsOf = prepare<{ tags: string }, [number]>('select tags from decisions where num = ?')
  /** By tag, with the tags of the old row: an index by decision number would cost a write for each decision. */
  const dropTags = prepare<unknown, [number, string]>(
    'delete from tags where num = ? and tag in (select value from json_each(?))',
  )
  const addTag = prepare<unknown, [string, number]>('insert or ignore into tags (tag, num) values (?, ?)')
  const clearPending = prepare<unknown, [number]>('delete from pending_files where num = ?')

  const addSpelling = prepare<unknown, [string, string, string]>(
    'insert or ignore into spellings (field, look, value) values (?, ?, ?)',
  )
  // After the row of the decision was emptied: what no other decision uses.
  const dropSpelling = prepare<
    unknown,
    [string, string]
  >(`delete from spellings where field = ?1 and value = ?2 and not exists (
    select 1 from decisions d where case ?1 when 'category' then d.category when 'project' then d.project else d.feature end = ?2)
    and not exists (select 1 from tags t where ?1 = 'tag' and t.tag = ?2)`)
  /** The texts of a decision that counts compare by appearance. */
  const spelledTexts = ({ category, project, feature, tags }: Spelled): [field: string, value: string][] =>
    [['category', category], ['project', project], ['feature', feature], ...tags.map((tag) => ['tag', tag])].flatMap(
      ([field, value]) => (value == null ? [] : [[field!, value]]),
    )
  const spelledOf = prepare<Omit<Spelled, 'tags'> & { tags: string }, [number]>(
    'select category, project, feature, tags from decisions where num = ?',
  )

  /** @param before the tags that it had as JSON, null for a new decision */
  function putDerived(num: number, record: DecisionRecord, before: string | null): void {
    putDocument.run(num, recordText(record))
    putTerms.run(num, analyse(record))
    if (before !== null) {
      dropEdges.run(record.id)
      dropReasons.run(num)
      dropTags.run(num, before)
    }
    for (const { reason, uses, strength } of reasonSums(record.reasons)) addReason.run(num, reason, uses, strength)
    for (const tag of record.tags) addTag.run(tag, num)
    for (const [field, value] of spelledTexts(filterFields(record, false))) {
      const look = skeleton(value)
      if (look !== value) addSpelling.run(field, look, value)
    }
    for (const edge of edgesOf(record))
      addEdge.run(
        edge.source_id,
        edge.target_id,
        edge.edge_type,
        edge.weight,
        edge.context,
        edge.created_at,
        edge.created_by,
        edge.effective ? 1 : 0,
      )
  }

  /** Runs the statement that fails if the id or source key is taken; it writes nothing in that case. */
  function unlessTaken<T>(record: DecisionRecord, run: () => T): T {
    try {
      return run()
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw new StorageError('conflict', `the id or source key of decision ${record.id} is taken`, { cause: error })
    }
  }

  return {
    find: (id) => find.get(id),
    get(id) {
      const row = get.get(id)
      return row && storedOf(row)
    },
    ofSource: (key) => ofSource.all(key).map(({ id }) => id),
    insert(record, revision) {
      const values = fieldValues(filterFields(record, false))
      const seq = group.nextSeq()
      const { num } = unlessTaken(record, () => insert.get(record.id, revision, seq, record.source_key, ...values)!)
      putDerived(num, record, null)
      return num
    },
    replace(num, record, revision) {
      const values = fieldValues(filterFields(record, false))
      const seq = group.nextSeq()
      const { tags } = tagsOf.get(num)!
      unlessTaken(record, () => update.run(revision, seq, record.source_key, ...values, num))
      putDerived(num, record, tags)
    },
    mark: (num) => void mark.run(num),
    touch: (num) => void touch.run(group.nextSeq(), num),
    hide(id, num) {
      hide.run(group.nextSeq(), num)
      dropEdges.run(id)
      dropReasons.run(num)
      dropTags.run(num, tagsOf.get(num)!.tags)
      clearPending.run(num)
    },
    erase(id, num) {
      const { tags, ...texts } = spelledOf.get(num)!
      empty.run(group.nextSeq(), num)
      dropDocument.run(num)
      // The feed joins the terms: keep an empty row.
      putTerms.run(num, '')
      dropVectors.run(num)
      dropEdges.run(id)
      dropReasons.run(num)
      dropTags.run(num, tags)
      for (const one of spelledTexts({ ...texts, tags: JSON.parse(tags) })) dropSpelling.run(...one)
      queueRemoval.run(num)
    },
    setFile: fileStates({ prepare }),
  }
}

export function decisionWriter(statements: Statements, table: DecisionTable) {
  const queue = statements.prepare<unknown, [number, number]>(
    'insert or replace into pending_files (num, revision) values (?, ?)',
  )

  const groups = groupReader(statements)

  return (member: SqliteMember, verb: Verb): DecisionWriter & { erase: Erasers['decision'] } => {
    function queueFile(num: number, revision: number, record: DecisionRecord): void {
      queue.run(num, revision)
      member.files.set(record.id, { num, revision, text: recordFile(record) })
    }
    return {
      groups: verb(groups) as DecisionWriter['groups'],
      get: verb((ids) => ids.map(table.get).filter((found) => found !== null)),
      find: verb(({ source_key }) => table.ofSource(source_key)),
      put: verb((record: DecisionRecord, replaces: number, revision = replaces + 1) => {
        if (replaces === 0) return queueFile(table.insert(record, revision), revision, record)
        const row = table.find(record.id)
        if (row === null || row.gone !== 0) throw new StorageError('not_found', `there is no decision ${record.id}`)
        if (row.revision !== replaces)
          throw new StorageError('conflict', `decision ${record.id} is at revision ${row.revision}, not ${replaces}`)
        table.replace(row.num, record, revision)
        queueFile(row.num, revision, record)
      }),
      erase: verb((id: string, revision: number | null) => {
        const row = table.find(id)
        const hidden = row?.gone === 1 && revision !== null
        if (row === null || row.gone === 2 || hidden) throw new StorageError('not_found', `there is no decision ${id}`)
        if (revision !== null && row.revision !== revision)
          throw new StorageError('conflict', `decision ${id} is at revision ${row.revision}, not ${revision}`)
        table.erase(id, row.num)
        member.files.set(id, { num: row.num, revision: -1, text: null })
      }),
    }
  }
}
