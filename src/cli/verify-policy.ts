/** Implements cstp verify for receipts and exported logs, both checked against a policy. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { causeOf } from '../core/log.ts'
import { verifyLog } from '../verify/log.ts'
import { NoteFormError, type NoteKey, readKey } from '../verify/note.ts'
import { type Policy, PolicyFormError, readPolicy } from '../verify/policy.ts'
import { verifyReceipts } from '../verify/receipt.ts'
import type { Run } from './command.ts'
import { misuse } from './failure.ts'
import { print } from './terminal.ts'
import { stated, verificationText } from './verify-text.ts'

export type VerifyRun = Pick<Run, 'words' | 'json' | 'terminal'> & {
  flags: Record<'key' | 'witness' | 'note' | 'against' | 'policy', string | undefined> & { rules: string[] }
}

const maxKeyFileBytes = 4_096
const maxPolicyBytes = 1_048_576
const maxReceiptsBytes = 67_108_864
const maxTileBytes = 16_777_216
const firstBytes = 1_024
/** Possible names of the first member in a file of receipts, whatever the order of members. No bundle begins with one of them. */
const receiptMembers =
  /^\s*\{\s*"(?:receipts|pending|record_id|kind|index|payload|salt|proof|commitment|statement|decision_id)"/

/** Likewise for a dossier, as returned by the service or in canonical form. */
const dossierMembers = /^\s*\{\s*"(?:dossier_format|approvals)"/

/** The kind of file to verify. @throws Failure if it can't be read */
export async function kindOf(path: string): Promise<'bundle' | 'receipts' | 'dossier' | 'log'> {
  try {
    if ((await stat(path)).isDirectory()) return 'log'
    const [first = Buffer.alloc(0)] = await Array.fromAsync(createReadStream(path, { end: firstBytes - 1 }))
    if (dossierMembers.test(first.toString())) return 'dossier'
    return receiptMembers.test(first.toString()) ? 'receipts' : 'bundle'
  } catch (error) {
    throw misuse(`can't read ${path}: ${causeOf(error)}`)
  }
}

/** A key given as text or as a file. */
export async function openKey(
  flag: 'key' | 'witness',
  kind: NoteKey['kind'],
  given: string | undefined,
): Promise<NoteKey | null> {
  if (given === undefined) return null
  const found = await stat(given).catch(() => null)
  if (found?.isFile() && found.size > maxKeyFileBytes) throw misuse(`--${flag}: ${given} is too long for a key`)
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

/** The policy in a file. @throws Failure naming the flag and the invalid line */
export async function openPolicy(flag: 'policy' | 'logs', path: string): Promise<Policy> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile() || found.size > maxPolicyBytes) throw misuse(`--${flag}: ${path} is not a file with a policy`)
  try {
    return readPolicy(await readFile(path, 'utf8'))
  } catch (error) {
    if (!(error instanceof PolicyFormError)) throw error
    throw misuse(`--${flag}: ${path}, ${error.message}`)
  }
}

/** The policy given by the flags: from a file, or made of the keys of a log and at most one witness. */
async function policyOf({ policy: path, key: log, witness }: VerifyRun['flags']): Promise<Policy> {
  if (path !== undefined && witness !== undefined)
    throw misuse('--policy names the witnesses: leave --witness out, or --policy')
  const key = await openKey('key', 'log', log)
  const named = key === null ? [] : [{ key, url: null }]
  if (path !== undefined) {
    const policy = await openPolicy('policy', path)
    if (policy.logs.length === 0 && key === null)
      throw misuse(`--policy: ${path} names no log: give the key of the log with --key`)
    return { ...policy, logs: [...policy.logs, ...named] }
  }
  if (key === null) throw misuse('who may have signed? Give a policy with --policy, or the key of the log with --key')
  const cosigner = await openKey('witness', 'witness', witness)
  if (cosigner === null) return { logs: named, witnesses: [], quorum: 'none', isQuorum: () => true }
  const { name } = cosigner
  return {
    logs: named,
    witnesses: [{ name, key: cosigner, url: null }],
    quorum: name,
    isQuorum: (cosigned) => cosigned.has(name),
  }
}

/** Resolves with the exit status: 0 if everything is valid, else 1. @throws Failure if a file or a key can't be read */
export async function verifyByPolicy(
  path: string,
  kind: 'receipts' | 'log',
  { flags, json, terminal }: Omit<VerifyRun, 'words'>,
): Promise<number> {
  if (flags.note !== undefined || flags.against !== undefined || flags.rules.length > 0)
    throw misuse('--note, --against and --rules are for bundles')
  const policy = await policyOf(flags)
  if (kind === 'log') {
    const read = async (name: string) => {
      const found = await stat(join(path, name)).catch(() => null)
      return found?.isFile() && found.size <= maxTileBytes ? await readFile(join(path, name)) : null
    }
    const report = await verifyLog(read, policy)
    const about = report.log ? [`Log ${stated(report.log.origin)}, root ${report.log.root_hash}`] : []
    await print({ json, terminal }, report, () => verificationText(path, report, about, terminal))
    return report.verified ? 0 : 1
  }
  if ((await stat(path)).size > maxReceiptsBytes) throw misuse(`${path} is too long for receipts`)
  const report = verifyReceipts(await readFile(path, 'utf8'), policy)
  const about = report.receipts.map(
    ({ kind, record_id, index, at, origin }) =>
      `Entry ${index} of ${stated(origin)}: ${stated(kind)} ${stated(record_id)}${at ? `, ${stated(at)}` : ''}`,
  )
  await print({ json, terminal }, report, () => verificationText(path, report, about, terminal))
  return report.verified ? 0 : 1
}
