/** Reads of decisions and edges. */
import type { DecisionReader, Edge, EdgeReader, StoredText } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import { type GetRow, oneSql, storedColumns, storedOf } from './decisions.ts'
import type { Followed } from './follow.ts'
import { groupReader } from './groups.ts'
import { decisionLists } from './lists.ts'

/** Documents to read before other calls get a turn: a few milliseconds. */
const maxAtOnce = 200

type Listed = Awaited<ReturnType<DecisionReader['list']>>

/** Cross joins fix the order: each id, its row, its document. */
const manySql = `select ${storedColumns} from json_each(?) j
  cross join decisions d on d.id = j.value and d.gone = 0 cross join documents c on c.num = d.num`

export function decisionReader(statements: Statements, { answer, answers }: Followed): DecisionReader {
  const { prepare } = statements
  const groups = groupReader(statements)
  const lists = decisionLists(statements, groups)
  const one = prepare<GetRow, [string]>(oneSql)
  const many = prepare<GetRow, [string]>(manySql)
  const ofSource = prepare<{ id: string }, [string]>('select id from decisions where source_key = ? and gone = 0')

  /** One statement for all: each statement outside of a transaction takes locks of its own. */
  function read(ids: readonly string[]): StoredText[] {
    const found = new Map(many.all(JSON.stringify(ids)).map((row) => [row.id, storedOf(row)]))
    return ids.flatMap((id) => found.get(id) ?? [])
  }

  /** Lists are repeated, and share decisions: their texts are kept. */
  function readListed(ids: readonly string[], known: Map<string, unknown>): StoredText[] {
    const unread = ids.filter((id) => !known.has(`get ${id}`))
    if (unread.length > 0) for (const text of read(unread)) known.set(`get ${text.id}`, text)
    return ids.flatMap((id) => (known.get(`get ${id}`) as StoredText | undefined) ?? [])
  }

  return {
    async get(ids) {
      if (ids.length === 1) {
        const row = one.get(ids[0]!)
        return row === null ? [] : [storedOf(row)]
      }
      const texts = read(ids.slice(0, maxAtOnce))
      for (let at = maxAtOnce; at < ids.length; at += maxAtOnce) {
        await new Promise(setImmediate)
        texts.push(...read(ids.slice(at, at + maxAtOnce)))
      }
      return texts
    },
    async find(query) {
      if ('prefix' in query) return lists.findIds(query.prefix, query.limit)
      return ofSource.all(query.source_key).map(({ id }) => id)
    },
    async list(query) {
      const known = answers()
      const question = `list ${JSON.stringify(query)}`
      const kept = known.get(question) as Listed | undefined
      if (kept) return kept
      const { ids, total } = lists.page(query)
      const listed: Listed = { texts: readListed(ids, known), total }
      if (query.ids === undefined) known.set(question, listed)
      return listed
    },
    walk: async (filter, after, limit) => lists.walk(filter, after, limit),
    groups: async (filter, by) => answer(`groups ${JSON.stringify([filter, by])}`, () => groups(filter, by)),
  }
}

type EdgeRow = Omit<Edge, 'effective'> & { effective: number }
const edgeOf = (row: EdgeRow): Edge => ({ ...row, effective: row.effective === 1 })

export function edgeReader({ prepare }: Statements): EdgeReader {
  const columns = 'source_id, target_id, edge_type, weight, context, created_at, created_by, effective'
  const among = 'in (select value from json_each(?1))'
  const ofTypes = '(?2 is null or edge_type in (select value from json_each(?2)))'
  const ordered = 'order by source_id, target_id, edge_type, created_by limit ?3'
  const select = (where: string) =>
    prepare<EdgeRow, [string, string | null, number]>(
      `select ${columns} from edges where ${where} and ${ofTypes} ${ordered}`,
    )
  const statements = {
    outgoing: select(`source_id ${among}`),
    incoming: select(`target_id ${among}`),
    both: select(`(source_id ${among} or target_id ${among})`),
  }
  const newest = prepare<EdgeRow, [string | null, number]>(
    `select ${columns} from edges where (?1 is null or edge_type in (select value from json_each(?1)))
     order by created_at desc, source_id, target_id, edge_type, created_by limit ?2`,
  )
  return {
    async of(ids, { direction, types, limit }) {
      const names = types === undefined ? null : JSON.stringify(types)
      if (ids === null) return newest.all(names, limit).map(edgeOf)
      return statements[direction].all(JSON.stringify(ids), names, limit).map(edgeOf)
    },
  }
}
