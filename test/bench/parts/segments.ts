/** The search of a store that has outgrown memory, in one process: nine tenths of the decisions in segments, against all of them in memory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import type { SearchEntry, SearchIndex } from '../../../sdk/storage/search.ts'
import { analyse, queryTerms } from '../../../src/domain/search/terms.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { openResidentSearch } from '../../support/resident.ts'
import type { Bench } from '../bench.ts'
import { questionOf, recordOf, vectorOf } from '../corpus.ts'
import { against, rowOf } from '../report.ts'
import { asked, timed } from '../timed.ts'

const part = 'segments'
const dimensions = 384
const generation = { number: 1, embedder: 'bench', dimensions }
const k = 50
const batch = 1_000

function entriesOf(size: number): SearchEntry[] {
  const next = random(98)
  return Array.from({ length: size }, (_, number) => {
    const record = recordOf(number)
    const vector = vectorOf(next, dimensions)
    const vectors = { structure: vector, function: vector, both: vector }
    return { id: record.id, value: { fields: filterFields(record, true), terms: analyse(record), vectors } }
  })
}

interface Question {
  terms: string[]
  vector: Float32Array
}

const keyword = (index: SearchIndex, { terms }: Question) => index.keyword({ terms, filter: {}, limit: k })
const semantic = (index: SearchIndex, { vector }: Question) => index.nearest({ vector, side: 'both', k, filter: {} })

/** Both legs, and the exact score of each candidate in the other. */
async function hybrid(index: SearchIndex, question: Question): Promise<void> {
  const [words, near] = await Promise.all([keyword(index, question), semantic(index, question)])
  await Promise.all([
    index.scores({ terms: question.terms, ids: near.map(({ id }) => id) }),
    index.distances({ vector: question.vector, side: 'both', ids: words.hits.map(({ id }) => id) }),
  ])
}
const legs = { keyword, semantic, hybrid }

async function measure(bench: Pick<Bench, 'add'>, size: number, folder: string, count: number): Promise<void> {
  const entries = entriesOf(size)
  const tail = Math.ceil(size / 10)
  const resident = openResidentSearch()
  const segmented = openSegmentSearch({ url: folder, manifests: openManifests(), tail_most: tail + 1 })
  const [whole, parted] = [await resident.open(generation), await segmented.open(generation)]
  for (let from = 0; from < size; from += batch) await whole.apply(entries.slice(from, from + batch), from + batch)
  await parted.apply(entries.slice(0, size - tail), size - tail)
  await parted.maintain()
  await parted.apply(entries.slice(size - tail), size)
  const next = random(97)
  const questions = Array.from({ length: count }, (_, at) => ({
    terms: queryTerms(questionOf(at, size)),
    vector: vectorOf(next, dimensions),
  }))
  for (const [name, leg] of Object.entries(legs)) {
    const ask = (index: SearchIndex) => timed((at) => leg(index, questions[at]!), count)
    const base = bench.add(rowOf(part, `${name}, all in memory`, { size, ...(await ask(whole)) }))
    bench.add(against(rowOf(part, `${name}, tail and segments`, { size, ...(await ask(parted)) }), base))
  }
  await Promise.all([resident.close(), segmented.close()])
}

/** @param count of questions */
export async function segments({ sizes, add }: Pick<Bench, 'sizes' | 'add'>, count = asked): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cstp-bench-segments-'))
  try {
    for (const size of sizes) await measure({ add }, size, join(folder, String(size)), count)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
