/** `bun run bench`: measures the server against plain baselines of the same run. `--store postgres`, `--only <part>`, `--quick`, `--million`, `--sizes <n,n>`, `--json`; `--write` puts the figures into the documentation. */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { type Bench, openBench } from './bench.ts'
import { writeFigures } from './figures.ts'
import { dashboard } from './parts/dashboard.ts'
import { engines } from './parts/engines.ts'
import { evidence } from './parts/evidence.ts'
import { guardrails } from './parts/guardrails.ts'
import { hooks } from './parts/hooks.ts'
import { http } from './parts/http.ts'
import { imports } from './parts/imports.ts'
import { learning } from './parts/learning.ts'
import { memory } from './parts/memory.ts'
import { queries } from './parts/queries.ts'
import { recall } from './parts/recall.ts'
import { record } from './parts/record.ts'
import { segments } from './parts/segments.ts'
import { startup } from './parts/startup.ts'
import { whole } from './parts/whole.ts'
import { legend, tableHead } from './report.ts'
import { verdicts } from './targets.ts'

const parts: Record<string, (bench: Bench) => Promise<void>> = {
  http,
  queries,
  engines,
  segments,
  record,
  guardrails,
  hooks,
  import: imports,
  startup,
  learning,
  memory,
  recall,
  whole,
  evidence,
  dashboard,
}

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    million: { type: 'boolean', default: false },
    sizes: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const { store } = values
if (store !== 'embedded' && store !== 'postgres') {
  console.error(`There is no store ${store}; stores are embedded and postgres.`)
  process.exit(2)
}
const { only } = values
const unknown = only?.filter((name) => !(name in parts)) ?? []
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}; parts are ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}

const show = (text: string) => {
  if (!values.json) console.log(text)
}
const machineLoad = () => `${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`
const sizes = values.sizes?.split(',').map(Number) ?? [
  1_000,
  10_000,
  ...(values.quick ? [] : [100_000]),
  ...(values.million ? [1_000_000] : []),
]
if (!sizes.every((size) => Number.isInteger(size) && size > 0)) {
  console.error(`--sizes is a list of numbers of decisions with commas; received ${values.sizes}`)
  process.exit(2)
}
const before = loadavg()[0]!
const bench = await openBench(sizes, show, store)
const ended = bench.close
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ended().finally(() => process.exit(130)))
try {
  show(`${bench.about}\n\n${legend} Load of the machine before: ${machineLoad()}.\n\n${tableHead}`)
  const wanted = Object.entries(parts).filter(([name]) => !only || only.includes(name))
  for (const [name, part] of wanted) {
    // They measure the index of a server, which is the same on every store, and hold all decisions in memory to compare with.
    const isIndex = name === 'engines' || name === 'segments'
    if (isIndex && store !== 'embedded') continue
    // Going through a million decisions five times takes half an hour: that is measured when it is asked for by name.
    const isLong = name === 'whole' && values.only === undefined
    await part(isIndex || isLong ? { ...bench, sizes: sizes.filter((size) => size < 1_000_000) } : bench)
  }
} finally {
  await bench.close()
}
if (values.json) console.log(JSON.stringify({ rows: bench.rows, targets: verdicts(bench.rows, store) }, null, 2))
else console.log(['', `Load of the machine after: ${machineLoad()}.`, '', ...verdicts(bench.rows, store)].join('\n'))
if (values.write) {
  const run = { command: `bun run bench ${process.argv.slice(2).join(' ')}`, before, store }
  await writeFigures(bench.rows, run)
}
process.exit(bench.rows.some(({ failures }) => failures > 0) ? 1 : 0)
