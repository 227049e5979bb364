/**
 * A cache of recently read documents. The database returns the current version of each row, and sends the document only if the cached
 * version differs. So answers are as fresh as without the cache, and callers get the same text object again.
 */
import type { StoredText } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { keptCharacters, recent } from '../recent.ts'
import { isIndexed } from './filter.ts'

interface Known {
  version: string
  text: StoredText
  json: string
}

/** `json` is null if the cached version is current. */
type Row = Omit<StoredText, 'json'> & { json: string | null; version: string }

/** The number of the transaction that wrote the row: unique among the versions of a row until 2³² transactions have passed. */
const version = 'd.xmin::text'
const facts = `d.id, ${version} as version, d.agent, d.created_ms, d.revision, ${isIndexed} as indexed`

/** Larger pages are rarely requested again. */
const mostOfPage = 50

export interface Documents {
  /** The documents that exist, in the order of `ids`. */
  get(ids: readonly string[]): Promise<StoredText[]>
  /**
   * @param page the query from `from` on, with `decisions d`
   * @param values the parameters of `page`
   * @param isFirst whether it is a first page, which is requested again more often
   */
  list(page: string, values: readonly unknown[], limit: number, isFirst: boolean): Promise<StoredText[]>
}

export function documents(query: Query, most = keptCharacters): Documents {
  const kept = recent<Known>(most)

  function textOf({ version: current, json, ...row }: Row, known: Known | undefined): StoredText {
    const isSame = known?.version === current
    if (isSame && known.text.indexed === row.indexed) return known.text
    const text = { ...row, agent: fromText(row.agent), json: isSame ? known.json : json! }
    kept.set(text.id, { version: current, text, json: text.json })
    return text
  }

  return {
    async get(ids) {
      const known = new Map(ids.map((id) => [id, kept.get(id)]))
      const rows = await query<Row>(
        `select ${facts}, case when ${version} = known.version then null else d.doc::text end as json
         from unnest($1::text[], $2::text[]) with ordinality as known (id, version, n) join decisions d on d.id = known.id order by known.n`,
        [ids.map(toText), ids.map((id) => known.get(id)?.version ?? null)],
      )
      return rows.map((row) => textOf(row, known.get(row.id)))
    },
    async list(page, values, limit, isFirst) {
      if (isFirst && limit <= mostOfPage && !kept.isEmpty()) {
        const rows = await query<Row>(`select ${facts}, null as json ${page}`, values)
        const known = rows.map(({ id }) => kept.get(id))
        if (rows.every((row, at) => known[at]?.version === row.version))
          return rows.map((row, at) => textOf(row, known[at]))
      }
      const rows = await query<Row>(`select ${facts}, d.doc::text as json ${page}`, values)
      return rows.map((row) => textOf(row, kept.get(row.id)))
    },
  }
}
