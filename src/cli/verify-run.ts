/** The work of cstp verify: opens the given files and prints the report. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { NoteFormError, type NoteKey, type ReadNote, readKey, readNote } from '../verify/note.ts'
import { meaning, type Report, verifyBundle } from '../verify/verify.ts'
import type { Run } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { fit, plain, print, type Terminal, wrap } from './terminal.ts'

type VerifyRun = Pick<Run, 'words' | 'json' | 'terminal'> & {
  flags: Record<'key' | 'witness' | 'note' | 'against', string | undefined> & { rules: string[] }
}

const chunkBytes = 1_048_576
const maxKeyFileBytes = 4_096
const maxNoteBytes = 262_144
const maxRulesBytes = 4_194_304
const maxStated = 300

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    if (!(await stat(path)).isFile()) throw misuse(`${path} is not a file`)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw misuse(`can't read ${path}: ${causeOf(error)}`)
  }
  return createReadStream(path, { highWaterMark: chunkBytes })
}

/** A key as text, or the file that holds it. */
async function openKey(
  flag: 'key' | 'witness',
  kind: NoteKey['kind'],
  given: string | undefined,
): Promise<NoteKey | null> {
  if (given === undefined) return null
  const found = await stat(given).catch(() => null)
  if (found?.isFile() && found.size > maxKeyFileBytes) throw misuse(`--${flag}: ${given} is too long to hold a key`)
  const text = found?.isFile() ? await readFile(given, 'utf8') : given
  try {
    const key = readKey(text)
    if (key.kind !== kind)
      throw misuse(`--${flag}: ${key.name} is the key of a ${key.kind}, expected that of a ${kind}`)
    return key
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    throw misuse(`--${flag}: ${error.message}`)
  }
}

/** The checkpoint of a witness. */
async function openNote(path: string | undefined): Promise<ReadNote | null> {
  if (path === undefined) return null
  const found = await stat(path).catch(() => null)
  if (!found?.isFile() || found.size > maxNoteBytes) throw misuse(`--note: ${path} is not a file with a checkpoint`)
  try {
    return readNote(await readFile(path, 'utf8'))
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    throw misuse(`--note: ${path} ${error.message}`)
  }
}

/** The digest of a set of control rules, given as a file or itself. */
async function digestOf(given: string): Promise<string> {
  if (/^[0-9a-f]{64}$/.test(given)) return given
  const found = await stat(given).catch(() => null)
  if (!found?.isFile() || found.size > maxRulesBytes) throw misuse(`--rules: ${given} is not a file of control rules`)
  const { loadControls, PolicyError } = await import('../policy/files.ts')
  try {
    return loadControls([{ name: given, text: await readFile(given, 'utf8') }]).sets[0]!.digest
  } catch (error) {
    if (error instanceof PolicyError) throw misuse(`--rules: ${error.message}`)
    throw error
  }
}

const marks = { passed: '✓', failed: '✗', unasked: '·', unproved: '?' } as const

/** What a bundle claims about itself, which may be megabytes. */
const stated = (value: unknown): string => fit(plain(String(value).slice(0, maxStated)), maxStated)

function reportText(path: string, report: Report, { width, paint }: Pick<Terminal, 'width' | 'paint'>): string {
  const colours = { passed: paint.green, failed: paint.red, unasked: paint.dim, unproved: paint.yellow } as const
  const indented = (text: string, by: number): string[] =>
    wrap(plain(text), Math.max(20, width - by)).map((line, at) => (at === 0 ? line : ' '.repeat(by) + line))
  const lines: string[] = [
    report.verified
      ? paint.green(`${plain(path)} is valid: nothing is wrong with it.`)
      : paint.red(`${plain(path)} is NOT valid.`),
    '',
  ]
  for (const { check, question, result, detail } of report.checks) {
    const note = result === 'unasked' ? 'not requested' : detail
    lines.push(`${colours[result](marks[result])} ${indented(note ? `${question} (${note})` : question, 2).join('\n')}`)
    for (const { message } of report.findings.filter((one) => one.check === check))
      lines.push(`    ${indented(message, 4).join('\n')}`)
  }
  const { bundle } = report
  lines.push(
    '',
    `Bundle ${stated(bundle.id)} of ${stated(bundle.generated_at)}, made by version ${stated(bundle.service_version)}`,
    ...bundle.rules.map(
      ({ framework, evidence_class, digest }) =>
        `Rules ${stated(framework)} for ${stated(evidence_class)} events, digest ${digest}`,
    ),
  )
  const { proved, open } = meaning(report)
  const list = (title: string, sentences: string[]) => {
    if (sentences.length > 0) lines.push('', title)
    for (const one of sentences) lines.push(`- ${indented(one, 2).join('\n')}`)
  }
  if (report.verified) {
    list('This is proved:', proved)
    list('This is not proved:', open)
  } else lines.push('', ...open.flatMap((one) => wrap(plain(one), width)))
  return `${lines.join('\n')}\n`
}

/** Resolves with the exit status: 0 if everything is valid, else 1. @throws Failure if a file or a key can't be read */
export async function runVerify({ words, flags, json, terminal }: VerifyRun): Promise<number> {
  const [path] = words as [string]
  if (flags.note !== undefined && flags.witness === undefined)
    throw misuse('--note is the checkpoint of a witness: give its key too, with --witness')
  const wanted = {
    key: await openKey('key', 'log', flags.key),
    witness: await openKey('witness', 'witness', flags.witness),
    note: await openNote(flags.note),
    rules: await Promise.all(flags.rules.map(digestOf)),
    older: flags.against === undefined ? null : await openFile(flags.against),
  }
  const report = await verifyBundle(await openFile(path), wanted)
  await print({ json, terminal }, { ...report, ...meaning(report) }, () => reportText(path, report, terminal))
  return report.verified ? 0 : 1
}
