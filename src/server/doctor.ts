/** Examines settings and data directory, and changes nothing: what is wrong, how bad it is, and how to mend it. */
import type { Settings } from '../config.ts'
import { checkFiles, checkVectors } from './doctor/catalogue.ts'
import { checkDatabases } from './doctor/databases.ts'
import { checkEvidence } from './doctor/evidence.ts'
import { type Check, error, type Finding, reason } from './doctor/finding.ts'
import { checkFolder } from './doctor/folder.ts'
import { checkGuardrails } from './doctor/guardrails.ts'
import { checkKeys } from './doctor/keys.ts'
import { checkSettings } from './doctor/settings.ts'

export type { Finding, Severity } from './doctor/finding.ts'

export interface Examined {
  name: string
  findings: Finding[]
}

const checks: readonly Check[] = [
  checkFolder,
  checkDatabases,
  checkFiles,
  checkVectors,
  checkEvidence,
  checkKeys,
  checkGuardrails,
]

/** Runs every check, one after the other. @param env for settings that nobody reads */
export async function* examine(settings: Settings, env: Record<string, string | undefined>): AsyncGenerator<Examined> {
  const all: Check[] = [{ name: 'settings', run: (given) => checkSettings(given, env) }, ...checks]
  for (const { name, run } of all) {
    const findings: Finding[] = []
    try {
      for await (const finding of run(settings)) findings.push(finding)
    } catch (thrown) {
      findings.push(error(`could not be looked at: ${reason(thrown)}`, 'see to what is named above first'))
    }
    yield { name, findings }
  }
}
