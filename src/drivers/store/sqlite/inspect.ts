/** Inspects a database without opening the store, which would fix some of the problems. */

import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parseRecord as storedRecord } from '../../../../sdk/storage/decisions.ts'
import { outboxCollection } from '../../../../sdk/storage/keyed.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { ThreadReads } from '../../../../sdk/storage/thread.ts'
import { messageOf } from '../../../core/log.ts'
import { statementsOf } from './connect.ts'
import { auditReader, keyedReader } from './coordination.ts'
import { feedReader } from './embeddings.ts'
import { filesBelow, hashOf, isKept, isTemp, linkProblem, placeOf, readPlain, relativePath } from './files.ts'
import { follow } from './follow.ts'
import { parseRecord, recordFile } from './parse.ts'
import { decisionReader, edgeReader } from './read.ts'
import { threadReads } from './thread.ts'

/** A difference between a decision file and its row; `path` is relative to `decisions/`. */
export interface FileFinding {
  path: string
  kind:
    | 'broken'
    | 'newer'
    | 'erased'
    | 'deleted'
    | 'hidden'
    | 'edited'
    | 'new'
    | 'different'
    | 'misplaced'
    | 'stray'
    | 'pending'
    | 'kept'
    | 'stale'
  detail: string
}

interface Row {
  num: number
  id: string
  gone: number
  file_hash: string
  pending: number
}

/** The rows of a month, whose files are in one folder. Their texts are read one by one, since all of them would fill the memory. */
function rowsOf(db: Database, month: string): Map<string, Row> {
  const found = db.query<Row, [string, string]>(
    `select d.num, d.id, d.gone, d.file_hash, exists (select 1 from pending_files p where p.num = d.num) as pending
     from decisions d where d.id >= ? and d.id < ?`,
  )
  return new Map(found.all(month, `${month}\u{10ffff}`).map((row) => [row.id, row]))
}

const docOf = (db: Database, { num }: Row): string =>
  db.query<{ doc: string }, [number]>('select doc from documents where num = ?').get(num)!.doc

function compare(db: Database, row: Row | undefined, path: string, content: Uint8Array): FileFinding | null {
  const id = idOf(path)
  if (row?.gone === 2) return { path, kind: row.pending === 1 ? 'pending' : 'erased', detail: '' }
  const hash = hashOf(content)
  // A file that a server wrote has exactly the text of its row.
  if (row && row.gone === 0 && hash === row.file_hash && hash === hashOf(recordFile(JSON.parse(docOf(db, row)))))
    return null
  const parsed = parseRecord(content, id)
  if ('problem' in parsed) return { path, kind: parsed.isNewer ? 'newer' : 'broken', detail: parsed.problem }
  if (row === undefined || row.gone === 1) return { path, kind: 'new', detail: '' }
  if (row.pending === 1) return { path, kind: 'pending', detail: '' }
  if (hash !== row.file_hash) return { path, kind: 'edited', detail: '' }
  return isDeepStrictEqual(parsed.record, storedRecord({ json: docOf(db, row) }))
    ? null
    : { path, kind: 'different', detail: '' }
}

const idOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1, -'.yaml'.length)

/** Compares the files below `decisions/` with the database, in both directions. */
export function* compareFiles(db: Database, root: string): Generator<FileFinding> {
  const months = db.query<{ month: string }, []>('select distinct substr(id, 1, 7) as month from decisions').all()
  const unseen = new Set(months.map(({ month }) => month))
  const links: string[] = []
  let month = ''
  let known = new Map<string, Row>()
  function* leave(): Generator<FileFinding> {
    for (const { id, gone, pending } of known.values()) {
      const path = relativePath(id)
      if (links.some((link) => `${path}/`.startsWith(`${link}/`))) continue
      if (gone === 1) yield { path, kind: 'hidden', detail: '' }
      if (gone === 0) yield { path, kind: pending === 1 ? 'pending' : 'deleted', detail: '' }
    }
  }
  function* enter(next: string): Generator<FileFinding> {
    yield* leave()
    month = next
    unseen.delete(month)
    known = rowsOf(db, month)
  }
  for (const { path, link } of filesBelow(root)) {
    if (link) {
      yield { path, kind: 'broken', detail: linkProblem }
      links.push(path)
      continue
    }
    if (isTemp(path)) yield { path, kind: 'stale', detail: '' }
    else if (isKept(path))
      yield { path, kind: 'kept', detail: path.slice(path.lastIndexOf('.') + 1).replace(/-.*/, '') }
    if (!path.endsWith('.yaml')) continue
    const id = idOf(path)
    if (path !== relativePath(id)) {
      const place = placeOf(id)
      yield place ? { path, kind: 'misplaced', detail: place } : { path, kind: 'stray', detail: '' }
      continue
    }
    if (id.slice(0, 7) !== month) yield* enter(id.slice(0, 7))
    let content: Uint8Array
    try {
      content = readPlain(join(root, path))
    } catch (error) {
      yield { path, kind: 'broken', detail: messageOf(error) }
      known.delete(id)
      continue
    }
    const found = compare(db, known.get(id), path, content)
    if (found) yield found
    known.delete(id)
  }
  for (const one of unseen) yield* enter(one)
  yield* leave()
}

/** Rows in one of two answers only. */
const differing = (name: string, one: string, other: string): string =>
  `select ${name} as name from (select * from (${one} except ${other}) union select * from (${other} except ${one})) limit 10`

/** Names of rows that differ from those of which they are made, by what they are; lists, filters, counts and figures read them. */
const derived: Readonly<Record<string, string>> = {
  'source key': `select d.id as name from decisions d join documents c using (num)
    where d.gone = 0 and d.source_key is not c.doc ->> 'source_key' limit 10`,
  tags: differing(
    'id',
    'select d.id, t.tag from tags t left join decisions d using (num)',
    'select d.id, t.value from decisions d, json_each(d.tags) t where d.gone = 0',
  ),
  reasons: differing(
    'id',
    'select d.id, r.type, r.uses, round(r.strength, 6) from reasons r left join decisions d using (num)',
    `select d.id, r.value ->> 'type', count(*), round(sum(r.value ->> 'strength'), 6)
     from decisions d join documents c using (num), json_each(c.doc, '$.reasons') r where d.gone = 0 group by 1, 2`,
  ),
  count: differing(
    `key || ' ' || value`,
    'select key, value, count from totals',
    `select key, value, count(*) from (select num, 'stakes' as key, stakes as value from decisions where gone = 0
       ${['status', 'category', 'outcome', 'agent', 'project'].map((key) => `union all select num, '${key}', ${key} from decisions where gone = 0`).join(' ')}
       union all select num, 'day', cast(cast(created_ms / 86400000.0 as integer) - (created_ms < cast(created_ms / 86400000.0 as integer) * 86400000) as text)
         from decisions where gone = 0
       union all select num, 'tag', tag from tags) where value is not null group by 1, 2`,
  ),
  'rules of the audit line': differing(
    'seq',
    'select seq, rule from audit_rules',
    'select a.seq, r.value from audit a, json_each(a.rules) r',
  ),
  'time of the audit line': `select seq as name from audit where abs(at_ms - unixepoch(at, 'subsec') * 1000) > 0.5 limit 10`,
}

/** What is stored a second time, so that it is found and counted, and differs from what it is made of. */
export function* derivedFlaws(db: Database): Generator<string> {
  for (const [what, sql] of Object.entries(derived))
    for (const { name } of db.query<{ name: string | number | null }, []>(sql).all())
      yield `the ${what} ${name ?? 'of no decision'} in the catalogue is not that of its record: cstp.db was changed by hand`
}

/** Number of keyed records in a collection. */
export const keyedCount = (db: Database, collection: string): number =>
  db.query<{ n: number }, [string]>('select count(*) as n from keyed_records where collection = ?').get(collection)!.n

export interface VectorState {
  /** The embedder of the active generation; null before the first. */
  embedder: string | null
  /** Whether another generation is being built. */
  building: boolean
  decisions: number
  /** Number of decisions without vectors that are not in the outbox. */
  missing: number
  /** Number of decisions without vectors that are in the outbox. */
  waiting: number
  /** The error of the text with the most failed embedding attempts. */
  error: string | null
  /** Rows whose vectors have the wrong length for the generation, or no decision. */
  odd: number
}

export function vectorState(db: Database): VectorState {
  const one = <T>(sql: string, ...given: (string | number)[]): T => db.query(sql).get(...given) as T
  const generation = (state: string) =>
    one<{ number: number; embedder: string; dimensions: number } | null>(
      'select number, embedder, dimensions from generations where state = ?',
      state,
    )
  const active = generation('active')
  const counts = one<{ decisions: number; bare: number; waiting: number }>(
    `select count(*) as decisions, count(*) filter (where e.num is null) as bare,
       count(*) filter (where e.num is null and o.key is not null) as waiting
     from decisions d left join embeddings e on e.num = d.num and e.generation = ?1 left join keyed_records o on o.collection = ?2 and o.key = d.id
     where d.gone = 0`,
    active?.number ?? -1,
    outboxCollection,
  )
  const odd = one<{ n: number }>(
    `select count(*) as n from embeddings e left join decisions d using (num)
     where e.generation = ? and (d.num is null or length(e.structure) <> ? or length(e.function) <> ? or length(e.both) <> ?)`,
    ...([active?.number ?? -1, ...Array(3).fill((active?.dimensions ?? 0) * 4)] as number[]),
  )
  const failed = one<{ error: string } | null>(
    `select value ->> 'error' as error from keyed_records where collection = ? and error is not null
     order by value ->> 'attempts' desc limit 1`,
    outboxCollection,
  )
  return {
    embedder: active?.embedder ?? null,
    building: generation('building') !== null,
    decisions: counts.decisions,
    missing: counts.bare - counts.waiting,
    waiting: counts.waiting,
    error: failed?.error ?? null,
    odd: odd.n,
  }
}

/** Readers of the thread and of the data it refers to, without opening the store. */
export function readersOf(
  db: Database,
): Pick<Store, 'audit' | 'keyed' | 'decisions' | 'edges' | 'feed'> & { thread: ThreadReads; close(): void } {
  const statements = statementsOf(db)
  const followed = follow(statements)
  const since = feedReader(statements)
  return {
    thread: threadReads(statements),
    audit: auditReader(statements),
    keyed: keyedReader(statements),
    decisions: decisionReader(statements, followed),
    feed: { head: async () => followed.head(), since: async (...query) => since(...query) },
    edges: edgeReader(statements),
    close: () => statements.finalize(),
  }
}
