/** Examines settings and data directory, and changes nothing: what is wrong, how bad it is, and how to mend it. */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { nearest } from '../../../sdk/nearest.ts'
import { readKey } from '../../core/key-file.ts'
import { messageOf } from '../../core/log.ts'
import { walkLog } from '../../domain/evidence/verify.ts'
import { openSqliteEvidence } from '../../drivers/evidence/sqlite/driver.ts'
import { firstUnindexed } from '../../drivers/evidence/sqlite/lookup.ts'
import { checkRules } from '../../policy/check.ts'
import { evidencePlace, isPostgres, type Settings, settings as table } from '../config/config.ts'
import { type Check, error, type Finding, note, warning, word } from './finding.ts'
import { checkDatabases, checkFiles, checkFolder, checkVectors } from './stores.ts'

export type { Finding, Severity } from './finding.ts'

// Settings that are read, but hardly meant so.

/** Variables of ours that are no settings. */
const others = ['CSTP_CONFIG', 'CSTP_AGENT', 'CSTP_TOKEN', 'CSTP_SOAK', 'CSTP_TEST_STORES', 'CSTP_TEST_POSTGRES']
const names = [...Object.values(table).map(({ env }) => env), ...others]

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/

export function* checkSettings(settings: Settings, env: Record<string, string | undefined>): Generator<Finding> {
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('CSTP_') || names.includes(name)) continue
    const near = nearest(
      name.toLowerCase(),
      names.map((one) => one.toLowerCase()),
    )
    yield warning(
      `there is no setting ${name}`,
      near ? `did you mean ${near.toUpperCase()}?` : 'cstp help settings lists them all',
    )
  }
  const { host, embedder, public_url, rate_limit, record_guardrails } = settings
  if (!loopback.test(host) && !public_url?.startsWith('https:'))
    yield warning(
      `the service listens on ${host} and has no https address: tokens may cross the network in the clear`,
      'put a proxy with TLS before it and name its address in CSTP_PUBLIC_URL, or listen on 127.0.0.1',
    )
  if (embedder === 'hash')
    yield warning(
      'the embedder hash is for tests: it knows words, not meaning',
      'unset CSTP_EMBEDDER, then cstp reindex',
    )
  if (rate_limit === 0) yield note('there is no rate limit', 'unset CSTP_RATE_LIMIT')
  if (record_guardrails === 'off')
    yield note('decisions are recorded without a look at the guardrails', 'unset CSTP_RECORD_GUARDRAILS')
}

// The keys that sign checkpoints: private, whole, and of the right kind.

export const checkKeys: Check = {
  name: 'keys',
  async *run({ data_dir, evidence_key }) {
    const folder = join(data_dir, 'keys')
    const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : []
    const own = there.filter((name) => name.endsWith('.pem')).map((name) => join(folder, name))
    for (const path of new Set([...own, ...(evidence_key ? [evidence_key] : [])])) {
      const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        yield warning(
          `other users can read the key ${path} (mode ${(mode & 0o777).toString(8)})`,
          `chmod 600 ${word(path)}`,
        )
      try {
        await readKey(path, 'the evidence key')
      } catch (thrown) {
        yield error(messageOf(thrown), 'restore it from a backup; what a new key signs is another log')
      }
    }
  },
}

// The guardrail files, as a start would read them.

export const checkGuardrails: Check = {
  name: 'guardrails',
  async *run({ guardrails_paths }) {
    const mend = 'correct the file, then cstp guardrails check'
    try {
      const { errors, findings, rules } = await checkRules(guardrails_paths)
      for (const { file, line, column, message } of errors) yield error(`${file}:${line}:${column}: ${message}`, mend)
      for (const { file, line, message } of findings) yield warning(`${file}:${line}: ${message}`, mend)
      if (errors.length === 0 && rules === 0)
        yield warning(
          `there is no rule in ${guardrails_paths?.join(', ')}`,
          'unset GUARDRAILS_PATHS for the shipped rules',
        )
    } catch (thrown) {
      yield error(`the guardrail files can't be read: ${messageOf(thrown)}`, 'correct GUARDRAILS_PATHS')
    }
  },
}

// The log of evidence, walked from its first record to its last.

const restore = 'keep the file for those who look into it, and restore a backup: cstp restore <folder> --force'

/** The log where there is one; nothing is made. */
async function openReader(place: string) {
  if (isPostgres(place)) {
    const { openPostgresEvidenceReader } = await import('../../drivers/evidence/postgres/driver.ts')
    return openPostgresEvidenceReader(place)
  }
  return existsSync(place) ? openSqliteEvidence(place) : null
}

export const checkEvidence: Check = {
  name: 'evidence',
  async *run(settings) {
    const place = evidencePlace(settings)
    const evidence = await openReader(place)
    if (evidence === null) return
    try {
      const { flaw } = await walkLog({ evidence, breathe: () => Bun.sleep(0) })
      if (flaw !== null)
        yield error(
          `the chain of evidence is damaged: ${flaw.reason}`,
          isPostgres(place)
            ? 'dump the database for those who look into it, and restore a backup with pg_restore'
            : restore,
        )
      const unfound = flaw !== null || isPostgres(place) ? null : firstUnindexed(place)
      if (unfound !== null)
        yield error(
          `record ${unfound} of the evidence is not found by its pull request or delivery: later counts of approvals would leave it out`,
          restore,
        )
    } finally {
      await evidence.close()
    }
  },
}

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
      findings.push(error(`could not be looked at: ${messageOf(thrown)}`, 'see to what is named above first'))
    }
    yield { name, findings }
  }
}
