/** Implements cstp verify for the dossier of a decision. */
import { readFile, stat } from 'node:fs/promises'
import { verifyDossier } from '../verify/dossier.ts'
import { misuse } from './failure.ts'
import { print } from './terminal.ts'
import { openKey, type VerifyRun } from './verify-policy.ts'
import { stated, verificationText } from './verify-text.ts'

const maxDossierBytes = 67_108_864

/** Resolves with the exit status: 0 if everything is valid, else 1. @throws Failure if a file or a key can't be read */
export async function verifyDossierFile(
  path: string,
  { flags, json, terminal }: Omit<VerifyRun, 'words'>,
): Promise<number> {
  const { key, witness, note, against, policy, rules } = flags
  if ([note, against, policy].some((flag) => flag !== undefined) || rules.length > 0)
    throw misuse('a dossier is checked with --key and --witness: leave the other flags out')
  if ((await stat(path)).size > maxDossierBytes) throw misuse(`${path} is too long to be a dossier`)
  const wanted = { key: await openKey('key', 'log', key), witness: await openKey('witness', 'witness', witness) }
  const report = verifyDossier(await readFile(path, 'utf8'), wanted)
  const { decision_id, generated_at, service_version } = report.dossier
  const about = [
    `Dossier of ${stated(decision_id)}, ${stated(generated_at)}, made by version ${stated(service_version)}`,
  ]
  await print({ json, terminal }, report, () => verificationText(path, report, about, terminal))
  return report.verified ? 0 : 1
}
