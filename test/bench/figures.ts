/** Writes what a run measured into the page of figures, and the few that the README shows. */
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { writeInto } from '../eval/pages.ts'
import { legend, line, type Row, tableHead } from './report.ts'

const root = join(import.meta.dir, '../..')
const page = join(root, 'docs/reference/figures.md')

/** The machine, the runtime and the command of a run. @param before load of the machine when it began */
export function machine(command: string, before: number): string {
  const cores = cpus()
  const facts: [string, string][] = [
    ['date', new Date().toISOString().slice(0, 10)],
    ['processor', `${cores[0]?.model.trim() ?? 'unknown'}, ${cores.length} cores`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['system', `${process.platform} ${release().replace(/-.*/, '')}, ${process.arch}`],
    ['runtime', `Bun ${Bun.version}`],
    [
      'load before and after',
      `${before.toFixed(1)}, ${loadavg()[0]!.toFixed(1)} (above the number of cores the machine was busy: read ratios)`,
    ],
    ['command', `\`${command}\``],
  ]
  return ['| measured on | |', '| --- | --- |', ...facts.map(([name, value]) => `| ${name} | ${value} |`)].join('\n')
}

/** Names of the parts as headings, with what is measured and at which layer. */
const titles: Record<string, string> = {
  http: 'Reads over HTTP, against a server that answers as many bytes at once',
  queries: 'Search, in the engine and over HTTP; `local` embeds each question',
  engines: 'The search index alone',
  segments: 'The search index of a store that has outgrown memory, alone',
  record: 'Recording over HTTP: durable, with its file',
  guardrails: 'Checks of guardrails, alone and over HTTP',
  hooks: 'Hooks of agents’ clients over HTTP',
  import: 'Import until all is indexed',
  'start-up': 'From the start of the process to its first answer',
  learning: 'Calibration, statistics and context over HTTP',
  memory: 'Resident memory',
  evidence: 'Evidence: appending, verifying, proving',
  dashboard: 'The dashboard in Chromium',
}

export function tables(rows: readonly Row[]): string {
  const parts = [...new Set(rows.map(({ part }) => part))]
  const sections = parts.map((part) => {
    const lines = rows.filter((row) => row.part === part).map(line)
    return [`### ${titles[part] ?? part}`, [tableHead, ...lines].join('\n')].join('\n\n')
  })
  return [legend, ...sections].join('\n\n')
}

/** Writes the page; the README only if the run has what it shows. */
export async function writeFigures(
  rows: readonly Row[],
  { command, before, store }: { command: string; before: number; store: string },
): Promise<void> {
  await writeInto(page, `bench-${store}`, `${machine(command, before)}\n\n${tables(rows)}`)
  if (store !== 'embedded') return
  // CPU, not time: it is nearly the same on a busy machine.
  const checks = rows.find(({ what }) => /^checkGuardrails over HTTP, 100 rules$/.test(what))
  if (checks?.cpu_us)
    await writeInto(
      join(root, 'README.md'),
      'checks',
      `**Check every action.** A check against 100 rules costs the server ${(checks.cpu_us / 1_000).toPrecision(2)} ms of CPU, with its line in the audit trail. A rule allows, refuses, changes the action, asks a person, demands evidence, or stops what keeps failing; what can't be judged is not allowed.`,
    )
  const verified = rows.filter(({ what, cpu_us }) => what.startsWith('verifyEvidenceChain') && cpu_us).at(-1)
  if (verified?.cpu_us)
    await writeInto(
      join(root, 'README.md'),
      'verified',
      `**Prove it afterwards.** Evidence is a hash chain with a Merkle tree and signed checkpoints. Verifying it takes ${verified.cpu_us.toPrecision(2)} µs of CPU for each event; an auditor does it offline, with a key from elsewhere.`,
    )
}
