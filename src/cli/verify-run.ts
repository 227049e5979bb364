/** Implements cstp verify for a bundle: opens the given files and prints the report. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { NoteFormError, type ReadNote, readNote } from '../verify/note.ts'
import { meaning, type Report, verifyBundle } from '../verify/verify.ts'
import { Failure, misuse } from './failure.ts'
import { print, type Terminal } from './terminal.ts'
import { verifyDossierFile } from './verify-dossier.ts'
import { kindOf, openKey, type VerifyRun, verifyByPolicy } from './verify-policy.ts'
import { stated, verificationText } from './verify-text.ts'

const chunkBytes = 65_536
const maxNoteBytes = 262_144
const maxRulesBytes = 4_194_304

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    if (!(await stat(path)).isFile()) throw misuse(`${path} is not a file`)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw misuse(`can't read ${path}: ${causeOf(error)}`)
  }
  return createReadStream(path, { highWaterMark: chunkBytes })
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

/** The digest of a set of control rules, given directly or as a file with the rules. */
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

function reportText(path: string, report: Report, terminal: Pick<Terminal, 'width' | 'paint'>): string {
  const { bundle } = report
  const about = [
    `Bundle ${stated(bundle.id)} of ${stated(bundle.generated_at)}, made by version ${stated(bundle.service_version)}`,
    ...bundle.rules.map(
      ({ framework, evidence_class, digest }) =>
        `Rules ${stated(framework)} for ${stated(evidence_class)} events, digest ${digest}`,
    ),
  ]
  return verificationText(path, { ...report, ...meaning(report) }, about, terminal)
}

/** Resolves with the exit status: 0 if everything is valid, else 1. @throws Failure if a file or a key can't be read */
export async function runVerify({ words, flags, json, terminal }: VerifyRun): Promise<number> {
  const [path] = words as [string]
  const kind = await kindOf(path)
  if (kind === 'dossier') return verifyDossierFile(path, { flags, json, terminal })
  if (kind !== 'bundle') return verifyByPolicy(path, kind, { flags, json, terminal })
  if (flags.policy !== undefined) throw misuse('--policy is for receipts and logs: give --key and --witness')
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
