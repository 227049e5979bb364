/**
 * `bun run bench`: measures the server on both stores against plain baselines of the same run, and compares the figures with the goals.
 * `--store <embedded|postgres>`, `--only <part>`, `--quick` (up to 10 000 decisions), `--sizes <n,n>`, `--json`; `--write` puts the figures
 * into the documentation.
 */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { type Bench, openBench } from './bench.ts'
import { writeFigures } from './figures.ts'
import { erasure } from './parts/erasure.ts'
import { evidence } from './parts/evidence.ts'
import { gateway } from './parts/gateway.ts'
import { guardrails } from './parts/guardrails.ts'
import { http } from './parts/http.ts'
import { memory } from './parts/memory.ts'
import { overload } from './parts/overload.ts'
import { queries } from './parts/queries.ts'
import { recall } from './parts/recall.ts'
import { record } from './parts/record.ts'
import { startup } from './parts/startup.ts'
import { statistics } from './parts/statistics.ts'
import { workspaces } from './parts/workspaces.ts'
import { legend, type Row, tableHead } from './report.ts'
import type { Site } from './site.ts'
import { verdicts } from './targets.ts'

const parts: Record<string, (bench: Bench) => Promise<void>> = {
  ...{
    http,
    queries,
    record,
    guardrails,
    startup,
    statistics,
    memory,
    recall,
    evidence,
    erasure,
    overload,
    gateway,
    workspaces,
  },
}
const stores = ['embedded', 'postgres'] as const

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: [...stores] },
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
    quick: { type: 'boolean', default: false },
    sizes: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
function refuse(name: string, given: readonly string[], known: readonly string[]): void {
  const wrong = given.filter((one) => !known.includes(one))
  if (wrong.length === 0) return
  console.error(`Unknown ${name} ${wrong.join(', ')}; known are ${known.join(', ')}.`)
  process.exit(2)
}
refuse('store', values.store, stores)
refuse('part', values.only, Object.keys(parts))
const sizes = values.sizes?.split(',').map(Number) ?? [1_000, 10_000, ...(values.quick ? [] : [100_000, 1_000_000])]
if (!sizes.every((size) => Number.isInteger(size) && size > 0)) {
  console.error(`--sizes is a list of numbers of decisions with commas; received ${values.sizes}`)
  process.exit(2)
}

const show = (text: string) => {
  if (!values.json) console.log(text)
}
const machineLoad = () => `${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`

async function measure(store: Site['store']): Promise<Row[]> {
  const before = loadavg()[0]!
  const bench = await openBench(sizes, show, store)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => bench.close().finally(() => process.exit(130)))
  try {
    show(`${bench.about}\n\n${legend} Load of the machine before: ${machineLoad()}.\n\n${tableHead}`)
    for (const [name, part] of Object.entries(parts)) if (values.only.includes(name)) await part(bench)
  } finally {
    await bench.close()
  }
  const found = verdicts(bench.rows, store)
  if (values.json) console.log(JSON.stringify({ store, rows: bench.rows, targets: found }, null, 2))
  else console.log(['', `Load of the machine after: ${machineLoad()}.`, '', ...found, ''].join('\n'))
  const command = `bun run bench ${process.argv.slice(2).join(' ')}`
  if (values.write) await writeFigures(bench.rows, { command, before, store })
  return bench.rows
}

let failures = 0
for (const store of values.store as Site['store'][]) for (const row of await measure(store)) failures += row.failures
process.exit(failures > 0 ? 1 : 0)
