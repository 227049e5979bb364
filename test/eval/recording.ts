/**
 * What it costs that rejected alternatives, results and lessons are searched too: CPU time of a record, without the files and commits of
 * a server, and memory of the index, of the same decisions with these texts and without, in turns.
 */
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { filterFields } from '../../sdk/storage/fields.ts'
import { analyse } from '../../src/domain/search/terms.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'
import { openMemoryIndex } from '../../src/drivers/search/memory/index.ts'
import { recordOf } from '../bench/corpus.ts'
import { type Corpus, recordedOf } from './classes.ts'
import { openEngine } from './engine.ts'
import { percent, table } from './figures.ts'

const records = 300
const held = 20_000
/** Most that the further texts may cost. */
const [maxSlower, maxLarger] = [0.1, 0.25]

/** Each text is new to the embedder, which keeps those that it embedded lately. */
function withoutMemory(embedder: Embedder): Embedder {
  let asked = 0
  return {
    ...embedder,
    embed: (texts, kind, signal) =>
      embedder.embed(
        texts.map((text) => `${100 + (asked++ % 900)} ${text}`),
        kind,
        signal,
      ),
  }
}

/** CPU µs of a record with its alternatives, and without. */
async function cpuOf(embedder: Embedder, decisions: Corpus['decisions']): Promise<[number, number]> {
  const engine = await openEngine(withoutMemory(embedder))
  const spent: [number, number] = [0, 0]
  const cost = async (params: object): Promise<number> => {
    const { user, system } = process.cpuUsage()
    await engine.call('recordDecision', params)
    const now = process.cpuUsage()
    return now.user + now.system - user - system
  }
  for (let at = 0; at < records; at++) {
    const given = recordedOf(decisions[at % decisions.length]!)
    const { alternatives_considered: _, ...less } = given
    for (const side of at % 2 === 0 ? [0, 1] : [1, 0]) spent[side]! += await cost(side === 0 ? given : less)
  }
  await engine.close()
  return spent
}

/** Bytes that the index takes. Measured in a process of its own, which has nothing else to release. */
function bytesOf(searched: 'all' | 'less'): number {
  const { stdout } = Bun.spawnSync([process.execPath, import.meta.path, searched])
  return Number(stdout.toString())
}

const used = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function measure(searched: string): number {
  const index = openMemoryIndex(384)
  const vector = new Float32Array(384).fill(1)
  const vectors = { structure: vector, function: vector, both: vector }
  Bun.gc(true)
  const before = used()
  for (let number = 0; number < held; number++) {
    const made = recordOf(number)
    const less = { ...made, alternatives_considered: [], actual_result: null, lessons: null }
    const terms = analyse(searched === 'all' ? made : less)
    index.apply([{ id: made.id, value: { fields: filterFields(made, true), terms, vectors } }])
  }
  Bun.gc(true)
  const bytes = used() - before
  return index.decisions() === held ? bytes : Number.NaN
}
if (import.meta.main) console.log(measure(process.argv[2]!))

/** Both tables, and the bounds that they break. */
export async function recordingTables(
  local: Embedder,
  corpora: readonly Corpus[],
): Promise<{ text: string; broken: string[] }> {
  const broken: string[] = []
  const hash = await openHashEmbedder()
  const rows: (string | number)[][] = []
  for (const { name, decisions } of corpora)
    for (const embedder of [hash, local]) {
      const [all, less] = await cpuOf(embedder, decisions)
      const with_alternatives = decisions.filter(({ alternatives_considered: some }) => some?.length).length
      const more = all / less - 1
      if (more > maxSlower) broken.push(`recording ${name} with ${embedder.driver} costs ${percent(more)} % more`)
      rows.push([
        name,
        embedder.driver,
        percent(with_alternatives / decisions.length),
        Math.round(less / records),
        Math.round(all / records),
        percent(more),
      ])
    }
  await hash.close()
  const [less, all] = [bytesOf('less'), bytesOf('all')]
  const more = all / less - 1
  if (more > maxLarger) broken.push(`the index is ${percent(more)} % larger`)
  const text = [
    `CPU µs of a record, over ${records} records of each corpus, without files and commits.`,
    table(['corpus', 'embedder', '% with alternatives', 'without them', 'with them', '% more'], 2, rows),
    `Memory of the index of ${held} made-up decisions of 150 words, all with alternatives, two of three with result and lesson: ${Math.round(all / 2 ** 20)} MB, ${Math.round(less / 2 ** 20)} MB without these texts (${percent(more)} % more).`,
  ].join('\n\n')
  return { text, broken }
}
