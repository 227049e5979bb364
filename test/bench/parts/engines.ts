/** The two halves of the resident search index against plain ones, in one process: the keyword index and FTS5, the WebAssembly scan and a loop. */
import { Database } from 'bun:sqlite'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import type { SearchValue } from '../../../sdk/storage/search.ts'
import { analyse, queryTerms } from '../../../src/domain/search/terms.ts'
import { openResidentSearch } from '../../support/resident.ts'
import type { Bench } from '../bench.ts'
import { questionOf, recordOf, vectorOf } from '../corpus.ts'
import { against, rowOf } from '../report.ts'
import { asked, timed } from '../timed.ts'

const part = 'engines'
const dimensions = 384
const k = 50
const batch = 1_000

/** The same stems go to both, so that only the engines differ. */
async function keywords(bench: Bench, size: number): Promise<SearchValue[]> {
  const driver = openResidentSearch()
  const index = await driver.open({ number: 0, embedder: '', dimensions: 0 })
  const db = new Database(':memory:')
  db.run("create virtual table texts using fts5(body, content='', contentless_delete=1, tokenize='unicode61')")
  const insert = db.prepare('insert into texts(rowid, body) values (?, ?)')
  const values: SearchValue[] = []
  for (let from = 0; from < size; from += batch) {
    db.transaction(() => {
      for (let number = from; number < Math.min(size, from + batch); number++) {
        const record = recordOf(number)
        const terms = analyse(record)
        insert.run(number + 1, terms)
        values.push({ fields: filterFields(record, false), terms, vectors: null })
      }
    })()
    const entries = values.slice(from).map((value) => ({ id: value.fields.id, value }))
    await index.apply(entries, from + batch)
  }
  const questions = Array.from({ length: asked }, (_, at) => queryTerms(questionOf(at, size)))
  const select = db.prepare<{ rowid: number }, [string]>(
    `select rowid, bm25(texts) as score from texts where texts match ? order by score limit ${k}`,
  )
  const matches = questions.map((terms) => terms.map((term) => `"${term}"`).join(' OR '))
  const base = bench.add(
    rowOf(part, 'FTS5, top 50 of the same words', { size, ...(await timed((at) => select.all(matches[at]!))) }),
  )
  const own = await timed((at) => index.keyword({ terms: questions[at]!, filter: {}, limit: k }))
  bench.add(against(rowOf(part, 'resident keyword index, top 50', { size, ...own }), base))
  select.finalize()
  insert.finalize()
  db.close()
  await driver.close()
  return values
}

function scan(vectors: Float32Array, question: Float32Array, size: number): number[] {
  const best: { at: number; dot: number }[] = []
  for (let at = 0; at < size; at++) {
    const row = at * dimensions
    let dot = 0
    for (let dimension = 0; dimension < dimensions; dimension++) dot += vectors[row + dimension]! * question[dimension]!
    if (best.length === k && dot <= best[k - 1]!.dot) continue
    let place = best.length
    while (place > 0 && best[place - 1]!.dot < dot) place--
    best.splice(place, 0, { at, dot })
    if (best.length > k) best.pop()
  }
  return best.map(({ at }) => at)
}

async function scans(bench: Bench, size: number, values: readonly SearchValue[]): Promise<void> {
  const next = random(99)
  const all = new Float32Array(size * dimensions)
  const driver = openResidentSearch()
  const index = await driver.open({ number: 1, embedder: 'bench', dimensions })
  for (let from = 0; from < size; from += batch) {
    const entries = values.slice(from, from + batch).map(({ fields }, at) => {
      const vector = vectorOf(next, dimensions)
      all.set(vector, (from + at) * dimensions)
      const vectors = { structure: vector, function: vector, both: vector }
      return { id: fields.id, value: { fields: { ...fields, indexed: true }, terms: '', vectors } }
    })
    await index.apply(entries, from + batch)
  }
  const questions = Array.from({ length: asked }, () => vectorOf(next, dimensions))
  const base = bench.add(
    rowOf(part, 'JS f32 scan, top 50', { size, ...(await timed((at) => scan(all, questions[at]!, size))) }),
  )
  const own = await timed((at) => index.nearest({ vector: questions[at]!, side: 'both', k, filter: {} }))
  bench.add(against(rowOf(part, 'resident vectors, top 50', { size, ...own }), base))
  await driver.close()
}

export async function engines(bench: Bench): Promise<void> {
  for (const size of bench.sizes) await scans(bench, size, await keywords(bench, size))
}
