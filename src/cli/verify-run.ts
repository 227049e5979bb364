/** Implements cstp verify: opens the given files and prints the report. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { causeOf } from '../core/log.ts'
import { NoteFormError, type ReadNote, readNote } from '../verify/note.ts'
import { type Policy, policyOf } from '../verify/policy.ts'
import { type AnyReport, kindOf, type ProofFile, type ProofKind, type Trust, verifyProof } from '../verify/verify.ts'
import type { Run } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { print } from './terminal.ts'
import { openKey, openPolicy, readAs, readGiven } from './verify-policy.ts'
import { stated, verificationText } from './verify-text.ts'

type Flags = Record<'key' | 'witness' | 'note' | 'against' | 'policy', string | undefined> & { rules: string[] }

const chunkBytes = 65_536
const firstBytes = 1_024
const maxNoteBytes = 262_144
const maxRulesBytes = 4_194_304
const maxTileBytes = 16_777_216
/** Longest dossier or answer with receipts. */
const maxFileBytes = 67_108_864

async function openFile(path: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    if (!(await stat(path)).isFile()) throw misuse(`${path} is not a file`)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw misuse(`can't read ${path}: ${causeOf(error)}`)
  }
  return createReadStream(path, { highWaterMark: chunkBytes })
}

/** @throws Failure if it can't be read */
async function openProof(path: string): Promise<ProofFile> {
  let kind: ProofKind = 'log'
  try {
    const found = await stat(path)
    // A pipe or a device may never end.
    if (!found.isFile() && !found.isDirectory()) throw misuse(`${path} is neither a file nor a folder`)
    if (!found.isDirectory()) {
      const [first = Buffer.alloc(0)] = await Array.fromAsync(createReadStream(path, { end: firstBytes - 1 }))
      kind = kindOf(first.toString())
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw misuse(`can't read ${path}: ${causeOf(error)}`)
  }
  if (kind === 'bundle') return { kind, chunks: await openFile(path) }
  if (kind !== 'log') {
    if ((await stat(path)).size > maxFileBytes) throw misuse(`${path} is too long: expected a ${kind} file`)
    return { kind, text: await readFile(path, 'utf8') }
  }
  const read = async (name: string) => {
    const found = await stat(join(path, name)).catch(() => null)
    return found?.isFile() && found.size <= maxTileBytes ? await readFile(join(path, name)) : null
  }
  return { kind, read }
}

/** The checkpoint of a witness. */
async function openNote(path: string | undefined): Promise<ReadNote | null> {
  if (path === undefined) return null
  const text = await readGiven('note', path, maxNoteBytes, 'a file with a checkpoint')
  return readAs(`--note: ${path}`, NoteFormError, () => readNote(text))
}

/** The digest of a set of control rules, given directly or as a file with the rules. */
async function digestOf(given: string): Promise<string> {
  if (/^[0-9a-f]{64}$/.test(given)) return given
  const text = await readGiven('rules', given, maxRulesBytes, 'a file of control rules')
  const { loadControls, PolicyError } = await import('../policy/files.ts')
  return readAs('--rules:', PolicyError, () => loadControls([{ name: given, text }]).sets[0]!.digest)
}

/** @throws Failure for a flag that this kind of file has no use for */
function checkFlags(kind: ProofKind, { key, witness, note, against, policy, rules }: Flags): void {
  if (kind === 'bundle') {
    if (policy !== undefined) throw misuse('--policy is for receipts and logs: give --key and --witness')
    if (note !== undefined && witness === undefined)
      throw misuse('--note is the checkpoint of a witness: give its key too, with --witness')
    return
  }
  if (note !== undefined || against !== undefined || rules.length > 0)
    throw misuse('--note, --against and --rules are for bundles')
  if (kind === 'dossier') {
    if (policy !== undefined) throw misuse('a dossier is checked with --key and --witness: leave --policy out')
    return
  }
  if (policy !== undefined && witness !== undefined)
    throw misuse('--policy names the witnesses: leave --witness out, or --policy')
  if (policy === undefined && key === undefined)
    throw misuse('who may have signed? Give a policy with --policy, or the key of the log with --key')
}

async function openTrust(flags: Flags): Promise<Trust> {
  const key = await openKey('key', 'log', flags.key)
  const witness = await openKey('witness', 'witness', flags.witness)
  const named = policyOf(key, witness)
  let policy: Policy = named
  if (flags.policy !== undefined) {
    const read = await openPolicy('policy', flags.policy)
    policy = { ...read, logs: [...read.logs, ...named.logs] }
    if (policy.logs.length === 0)
      throw misuse(`--policy: ${flags.policy} names no log: give the key of the log with --key`)
  }
  return {
    ...{ key, witness, policy },
    note: await openNote(flags.note),
    rules: await Promise.all(flags.rules.map(digestOf)),
    older: flags.against === undefined ? null : await openFile(flags.against),
  }
}

/** Lines that describe what was verified. */
function about(report: AnyReport): string[] {
  if ('bundle' in report) {
    const { id, generated_at, service_version, rules } = report.bundle
    return [
      `Bundle ${stated(id)} of ${stated(generated_at)}, made by version ${stated(service_version)}`,
      ...rules.map(
        ({ framework, evidence_class, digest }) =>
          `Rules ${stated(framework)} for ${stated(evidence_class)} events, digest ${digest}`,
      ),
    ]
  }
  if ('dossier' in report) {
    const { decision_id, generated_at, service_version } = report.dossier
    return [`Dossier of ${stated(decision_id)}, ${stated(generated_at)}, made by version ${stated(service_version)}`]
  }
  if ('log' in report) return report.log ? [`Log ${stated(report.log.origin)}, root ${report.log.root_hash}`] : []
  return report.receipts.map(
    ({ kind, record_id, index, at, origin }) =>
      `Entry ${index} of ${stated(origin)}: ${stated(kind)} ${stated(record_id)}${at ? `, ${stated(at)}` : ''}`,
  )
}

/** Resolves with the exit status: 0 if everything is valid, else 1. @throws Failure if a file or a key can't be read */
export async function runVerify({
  words,
  flags,
  json,
  terminal,
}: Pick<Run, 'words' | 'json' | 'terminal'> & { flags: Flags }): Promise<number> {
  const [path] = words as [string]
  const file = await openProof(path)
  checkFlags(file.kind, flags)
  const report = await verifyProof(file, await openTrust(flags))
  await print({ json, terminal }, report, () => verificationText(path, report, about(report), terminal))
  return report.verified ? 0 : 1
}
