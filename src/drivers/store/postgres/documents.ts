/**
 * Documents that were read last. The database says which version of a row is current, and sends a document only if that is not the one that
 * is known: so an answer is as fresh as without, and what was made of a text is found again with it.
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

/** `json` is null where the version is known. */
type Row = Omit<StoredText, 'json'> & { json: string | null; version: string }

/** The number of the transaction that wrote the row: no other version of the row has it before 2³² transactions have passed. */
const version = 'd.xmin::text'
const facts = `d.id, ${version} as version, d.agent, d.created_ms, d.revision, ${isIndexed} as indexed`

/** More than so many at once are seldom asked for again. */
const mostOfPage = 50

export interface Documents {
  /** Those that exist, in this order. */
  get(ids: readonly string[]): Promise<StoredText[]>
  /** @param page `from` and what follows it, with `decisions d` @param values its parameters @param isFirst whether it is a first page, which is asked for again more often */
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
