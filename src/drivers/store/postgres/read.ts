/** Reads of decisions and edges. */

import { countDecisions } from '../../../../sdk/storage/groups.ts'
import type { DecisionReader, Edge, EdgeReader } from '../../../../sdk/storage/store.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { documents } from './documents.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, isIndexed, whereOf } from './filter.ts'
import { groupRows } from './groups.ts'
import { idsOfSource } from './rows.ts'

const sortColumns = {
  created_at: 'd.created_ms',
  confidence: 'coalesce(d.confidence, -1)',
  category: `coalesce(d.category, '')`,
  stakes: 'd.stakes',
  status: 'd.status',
}

/** The part of an id after `yyyy-mm-dd-decision-`, as it is indexed. */
const suffix = 'substr(d.id, 21) collate "C"'

/** The first text after all texts that start with `prefix`, by bytes. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

export function decisionReader(client: Client): DecisionReader {
  const { read } = client
  const texts = documents(read)
  return {
    get: texts.get,
    async find(query) {
      if ('source_key' in query) return idsOfSource(read, query.source_key)
      const [from, to] = [toText(query.prefix), endOf(toText(query.prefix))]
      const rows = await read<{ id: string }>(
        `select id from decisions d where (d.id >= $1 and d.id < $2)
           or (${suffix} >= $1 and ${suffix} < $2 and substr(d.id, 11, 10) = '-decision-')
         order by d.id limit $3::int`,
        [from, to, query.limit],
      )
      return rows.map(({ id }) => id)
    },
    async list({ filter, ids, sort, order, offset, limit }) {
      const values: unknown[] = []
      const among = ids && `d.id = any($${values.push([...ids])}::text[])`
      const where = [whereOf(filter, values), ...(among ? [among] : [])].join(' and ')
      const totals = among
        ? read<{ count: number }>(`select count(*)::int as count from decisions d where ${where}`, [...values]).then(
            ([row]) => row!.count,
          )
        : countDecisions({ groups: (filter, by) => groupRows(read, filter, by) }, filter)
      const ordered = `order by ${sortColumns[sort]} ${order}, d.id ${order}`
      const found = texts.list(
        // Select the page first: a sort would carry every document along.
        `from decisions d join (select d.id from decisions d where ${where}
           ${ordered} offset $${values.push(offset)}::int limit $${values.push(limit)}::int) page using (id) ${ordered}`,
        values,
        limit,
        offset === 0,
      )
      const [total, page] = await Promise.all([totals, found])
      return { texts: page, total }
    },
    async walk(filter, after, limit) {
      const values: unknown[] = []
      const where = [whereOf(filter, values)]
      if (after !== null)
        where.push(
          `(d.created_ms, d.id) > ($${values.push(after.created_ms)}::float8, $${values.push(after.id)}::text)`,
        )
      const rows = await read<FieldRow>(
        `select ${fieldColumns}, ${isIndexed} as indexed from decisions d where ${where.join(' and ')}
         order by d.created_ms, d.id limit $${values.push(limit)}::int`,
        values,
      )
      return rows.map(fieldsOfRow)
    },
    groups: (filter, by) => groupRows(read, filter, by),
  }
}

export function edgeReader({ read }: Client): EdgeReader {
  const columns = 'source_id, target_id, edge_type, weight, context, created_at, created_by, effective'
  const ordered = 'order by source_id, target_id, edge_type, created_by'
  const edgeOf = (row: Edge): Edge => ({
    ...row,
    target_id: fromText(row.target_id),
    context: fromText(row.context),
    created_by: fromText(row.created_by),
  })
  const places = {
    outgoing: 'source_id = any($1::text[])',
    incoming: 'target_id = any($1::text[])',
    both: '(source_id = any($1::text[]) or target_id = any($1::text[]))',
  }
  return {
    async of(ids, { direction, types = null, limit }) {
      const names = types && [...types]
      if (ids === null) {
        const rows = await read<Edge>(
          `select ${columns} from edges where $1::text[] is null or edge_type = any($1::text[])
           order by created_at desc, source_id, target_id, edge_type, created_by limit $2::int`,
          [names, limit],
        )
        return rows.map(edgeOf)
      }
      const rows = await read<Edge>(
        `select ${columns} from edges where ${places[direction]} and ($2::text[] is null or edge_type = any($2::text[]))
         ${ordered} limit $3::int`,
        [ids.map(toText), names, limit],
      )
      return rows.map(edgeOf)
    },
  }
}
