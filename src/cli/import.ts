/** cstp import: imports decisions from JSON Lines, the history of a git repository, architecture decision records, beads and folders of YAML files. */
import { stat } from 'node:fs/promises'
import shop from '../../docs/demo/decisions.jsonl' with { type: 'text' }
import { messageOf } from '../core/log.ts'
import { readAdrFolder } from './adr/folder.ts'
import { defineCommand, toggle, value } from './command.ts'
import { Failure } from './failure.ts'
import { beadLines } from './import-beads.ts'
import { importGit } from './import-git.ts'
import { type Line, readLines } from './import-lines.ts'
import { importFlags, runImport } from './import-run.ts'
import { yamlLines } from './import-yaml.ts'

/** The bytes of a stream; the signal also ends a pending read. */
async function* chunks(stream: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** The input and its size, which is unknown for stdin. @throws Failure if the file does not exist */
async function open(path: string): Promise<{ stream: ReadableStream<Uint8Array>; bytes: number | null }> {
  if (path === '-') return { stream: Bun.stdin.stream(), bytes: null }
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(error.code === 'ENOENT' ? `there is no file ${path}` : messageOf(error))
  })
  if (found.isDirectory()) throw new Failure(`${path} is a folder, not a file`)
  return { stream: Bun.file(path).stream(), bytes: found.isFile() ? found.size : null }
}

/** A file or stdin, read while its lines are imported. */
async function fromFile(path: string, signal: AbortSignal, lines: (input: AsyncIterable<Line>) => AsyncIterable<Line>) {
  const { stream, bytes } = await open(path)
  let read = 0
  return {
    lines: lines(readLines(chunks(stream, signal), (now) => (read = now))),
    part: () => (bytes ? read / bytes : null),
    begun: () => read > 0,
  }
}

const adr = defineCommand({
  name: 'import adr',
  usage: '<folder>',
  summary: 'Import architecture decision records: MADR, Nygard, log4brains and their relatives.',
  about: [
    'Every Markdown file below the folder that has a title and a decision or a status becomes a decision: its text is the title and the decision, options that were not chosen are alternatives, what follows “because” and the decision drivers are reasons, and everything else is kept as its context. The status is a tag (status:accepted). “Supersedes”, “superseded by”, “amends” and the like become links.',
    'The date is the one of the record, else that of its file name, else the day of the first git commit of the file. No values are invented: these decisions have no confidence and no category, so they do not count in any score.',
    'Importing the folder again changes nothing. Files without a record are listed and skipped. Anyone who may write to the repository can write into the files, so confidence, outcome, agent, origin, project and links in their front matter are left out and listed, unless you say --trust-scores.',
  ],
  flags: {
    project: value('owner/repo', 'Project of the decisions; by default that of the git remote.'),
    'trust-scores': toggle(
      'Take over confidence, outcome, agent, origin, project and links that cstp export adr wrote into the files; else they enter no score and reach no decision outside of the folder.',
    ),
    ...importFlags,
  },
  examples: [
    ['cstp import adr docs/decisions --dry-run', 'what would be imported?'],
    ['cstp import adr docs/decisions', 'into the running server'],
  ],
  async run(run) {
    const { lines, leftOut } = await readAdrFolder(run.words[0]!, {
      project: run.flags.project,
      trust_scores: run.flags['trust-scores'],
    })
    return runImport(run, { lines, leftOut })
  },
})

const beads = defineCommand({
  name: 'import beads',
  usage: '<file | ->',
  summary: 'Import the decisions of an issue tracker that beads exported as JSON Lines.',
  about: [
    'Issues of the type decision become decisions: title, description and design, labels as tags, dependencies between decisions as links. The reason for closing becomes the outcome if it names one (done, failed, abandoned …); otherwise it is kept in the context. Other issues are skipped.',
    'No values are invented: these decisions have no confidence and no category, so they do not count in any score. Importing the file again changes nothing.',
  ],
  flags: importFlags,
  examples: [['bd export | cstp import beads -', 'the decisions of this repository']],
  async run(run) {
    return runImport(run, await fromFile(run.words[0]!, run.signal, beadLines))
  },
})

const cstpYaml = defineCommand({
  name: 'import cstp-yaml',
  usage: '<folder>',
  summary: 'Import decision files: those of this program, and of others that keep a decision as YAML.',
  about: [
    'Every .yaml file below the folder is one decision: the files of a data directory or of cstp export --yaml, and those with summary, date, pre_decision and trace that earlier programs of the protocol wrote. Outcomes and links are imported too.',
    'Importing the folder again changes nothing.',
  ],
  flags: importFlags,
  examples: [['cstp import cstp-yaml ./decisions --dry-run', 'what would be imported?']],
  async run(run) {
    return runImport(run, { lines: await yamlLines(run.words[0]!) })
  },
})

const demo = defineCommand({
  name: 'import demo',
  summary: 'Import the decisions of a made-up web shop, to look around in a service that has none.',
  about: ['They stay among your own decisions, so use a data directory for it. Importing them again changes nothing.'],
  flags: importFlags,
  examples: [['cstp import demo', 'into the running server']],
  async run(run) {
    return runImport(run, { lines: readLines(new Blob([shop]).stream()) })
  },
})

export const importDecisions = defineCommand({
  name: 'import',
  usage: '<file | ->',
  summary: 'Import decisions with outcomes and links: git history, JSON Lines, ADRs, beads, YAML files.',
  about: [
    'Each line is a JSON object: the parameters of recordDecision (decision and category are required; without confidence a decision enters no score), and optionally source (its own key), date, agent, outcome (success, failure, partial or abandoned) with actual_result, lessons, notes and basis, and links: [{"target": the source or id of another decision, "edge_type": "depends_on", "weight"?, "context"?}].',
    'Importing a file again creates no duplicates: a decision with a known source stays as it is, except that a missing outcome or link is added. Lines without a source are recognised by their content. An invalid line is reported with its number and skipped, and the exit status is then 1.',
    'A server requires an agent with the scope admin. The command respects the rate limit of the server (--rate-limit 0 on the server removes it; --local has none).',
  ],
  flags: importFlags,
  verbs: [importGit, adr, beads, cstpYaml, demo],
  examples: [
    ['cstp import decisions.jsonl --dry-run', 'what is wrong with the file?'],
    ['cstp import decisions.jsonl', 'into the running server'],
    ['cstp export | cstp import - --local --data-dir ./copy', 'a copy in another folder'],
  ],
  async run(run) {
    return runImport(run, await fromFile(run.words[0]!, run.signal, (lines) => lines))
  },
})
