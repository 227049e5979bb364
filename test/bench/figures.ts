/** Writes what a run measured into the page of figures, and the few that the README shows. */
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { partOf, writeInto } from '../eval/pages.ts'
import { legend, line, type Row, tableHead } from './report.ts'

const root = join(import.meta.dir, '../..')
const page = join(root, 'docs/reference/figures.md')

const asTable = (facts: readonly (readonly [string, string])[]): string =>
  ['| measured on | |', '| --- | --- |', ...facts.map(([name, value]) => `| ${name} | ${value} |`)].join('\n')

function factsOf(): [string, string][] {
  const cores = cpus()
  return [
    ['processor', `${cores[0]?.model.trim() ?? 'unknown'}, ${cores.length} cores`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['system', `${process.platform} ${release().replace(/-.*/, '')}, ${process.arch}`],
    ['runtime', `Bun ${Bun.version}`],
  ]
}

/** Which command measured, and when. */
interface Run {
  command: string
  /** Load of the machine when it began. */
  before: number
  store: string
}

const today = () => new Date().toISOString().slice(0, 10)
const loads = ({ before }: Run) => `${before.toFixed(1)}, ${loadavg()[0]!.toFixed(1)}`

/** The machine and the runtime, as a table. */
const machineFacts = (): string => asTable(factsOf())

/** Names of the parts as headings, with what is measured and at which layer. */
const titles: Record<string, string> = {
  http: 'Reads over HTTP, against a server that answers as many bytes at once',
  queries: 'Search over HTTP',
  record: 'Recording over HTTP: durable, with its file',
  guardrails: 'Checks of guardrails over HTTP',
  'start-up': 'From the start of the process to its first answer',
  statistics: 'Statistics and context over HTTP',
  memory: 'Resident memory',
  recall: 'Search by meaning, against a search that looks at every decision',
  evidence: 'Evidence: appending and verifying',
  workspaces: 'Many workspaces in one server',
  gateway: 'Calls of a tool through the gateway, against the same calls without it',
}

const headings = Object.values(titles)

/** Tables of an earlier run, by heading; those of parts that are gone are not kept. */
function sectionsOf(text: string): Map<string, string> {
  const [, ...parts] = text.split(/^### /m)
  return new Map(
    parts.flatMap((part): [string, string][] => {
      const end = part.indexOf('\n')
      const heading = part.slice(0, end)
      return headings.includes(heading) ? [[heading, part.slice(end).trim()]] : []
    }),
  )
}

/**
 * The tables of a run, each with its date, load and command, among those of earlier runs for what this one did not measure. Figures of
 * another machine or runtime are not kept: nobody could compare them.
 * @param earlier what the page shows
 */
export function merged(earlier: string, rows: readonly Row[], facts: string, measured: string): string {
  const sections = earlier.startsWith(facts) ? sectionsOf(earlier) : new Map<string, string>()
  for (const part of new Set(rows.map((row) => row.part))) {
    const lines = rows.filter((row) => row.part === part).map(line)
    sections.set(titles[part] ?? part, `${measured}\n\n${[tableHead, ...lines].join('\n')}`)
  }
  const sorted = [...sections].sort(([a], [b]) => headings.indexOf(a) - headings.indexOf(b))
  const tables = sorted.map(([heading, body]) => `### ${heading}\n\n${body}`)
  return [facts, `${legend} With a load above the number of cores the machine was busy: read ratios.`, ...tables].join(
    '\n\n',
  )
}

/** Writes the page; the README only if the run has what it shows. */
export async function writeFigures(rows: readonly Row[], run: Run): Promise<void> {
  const name = `bench-${run.store}`
  const earlier = partOf(await Bun.file(page).text(), name) ?? ''
  const measured = `Measured ${today()}, load before and after ${loads(run)}: \`${run.command}\`.`
  await writeInto(page, name, merged(earlier, rows, machineFacts(), measured))
  if (run.store !== 'embedded') return
  // CPU, not time: it is nearly the same on a busy machine.
  const checks = rows.find(({ what }) => /^checkGuardrails over HTTP, 100 rules$/.test(what))
  if (checks?.cpu_us)
    await writeInto(
      join(root, 'README.md'),
      'checks',
      `**Check every action.** A check against 100 rules costs the server ${(checks.cpu_us / 1_000).toPrecision(2)} ms of CPU, including its audit entry. A rule allows, refuses, changes the action, asks a person, demands evidence, or blocks an action that keeps failing. An action that can't be judged is not allowed.`,
    )
  const verified = rows.filter(({ what, cpu_us }) => what.startsWith('verifyEvidenceChain') && cpu_us).at(-1)
  if (verified?.cpu_us)
    await writeInto(
      join(root, 'README.md'),
      'verified',
      `**Prove it afterwards.** Evidence is a hash chain with a Merkle tree and signed checkpoints. Verifying it takes ${verified.cpu_us.toPrecision(2)} µs of CPU for each event; an auditor does it offline, with a key obtained separately.`,
    )
}
