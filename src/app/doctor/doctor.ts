/** Checks settings and data without changing anything, and reports each problem with its severity and a fix. */
import { messageOf } from '../../core/log.ts'
import { adminAgent } from '../../core/token-file.ts'
import { checkRules } from '../../policy/check.ts'
import { type Settings, scopesOfAgents } from '../config/config.ts'
import { foreignPorts, type PortWithFiles, unknownFiles } from '../own-drivers.ts'
import { type Check, error, type Finding, note, warning } from './finding.ts'
import { checkFolder } from './folder.ts'
import { checkHooks } from './hooks.ts'
import { checkKeys } from './keys.ts'
import { checkSearch } from './search.ts'
import { checkDatabases, checkErasures, checkEvidence, checkFiles, checkVectors } from './stores.ts'
import { checkSessions, checkThread } from './thread.ts'

export type { Finding, Severity } from './finding.ts'

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Settings that are valid but probably unintended. */
function* checkSettings(settings: Settings): Generator<Finding> {
  const { host, embedder, public_url, rate_limit, record_guardrails } = settings
  if (!loopback.test(host) && !public_url?.startsWith('https:'))
    yield warning(
      `the service listens on ${host} without an https address: tokens may cross the network unencrypted`,
      'put a TLS proxy in front of it and set CSTP_PUBLIC_URL to its address, or listen on 127.0.0.1',
    )
  if (embedder === 'hash')
    yield warning(
      'the embedder hash is for tests: it compares spelling, not meaning',
      'unset CSTP_EMBEDDER, then cstp reindex',
    )
  if (rate_limit === 0) yield note('there is no rate limit', 'unset CSTP_RATE_LIMIT')
  if (record_guardrails === 'off')
    yield note('decisions are recorded without checking the guardrails', 'unset CSTP_RECORD_GUARDRAILS')
  yield* vouching(settings)
}

/** Agents whose token can vouch for its own records. The token in admin.token is expected to be an administrator's. */
function* vouching(settings: Settings): Generator<Finding> {
  for (const { agent, scopes } of scopesOfAgents(settings)) {
    const beside = (['admin', 'evidence', 'approve'] as const).filter((scope) => scopes.includes(scope))
    if (!scopes.includes('write') || beside.length === 0 || (!settings.auth_tokens && agent === adminAgent)) continue
    yield warning(
      `agent ${agent} may write and has ${beside.join(', ')}: it could vouch for its own decisions`,
      'give each scope to a token of its own (cstp config lists them), and never this one to a model',
    )
  }
}

/** Checks the guardrail files as they would be loaded at startup. */
const checkGuardrails: Check = {
  name: 'guardrails',
  async *run({ guardrails_paths, ...lists }) {
    const fix = 'correct the file, then cstp guardrails check'
    const again = 'name directories with rules in GUARDRAILS_PATHS, or unset it for the shipped rules'
    try {
      const { errors, findings, rules, empty, untold } = await checkRules(guardrails_paths, lists)
      for (const { file, line, column, message } of errors) yield error(`${file}:${line}:${column}: ${message}`, fix)
      for (const { file, line, message } of findings) yield warning(`${file}:${line}: ${message}`, fix)
      if (untold.length > 0)
        yield note(
          `${untold.join(', ')} reads session.request, which hooks leave empty: they keep prompts as digests`,
          'set CSTP_HOOK_PROMPTS=text, or have agents name their task in getSessionContext',
        )
      for (const place of empty) yield warning(`no rule files in ${place}`, again)
      if (errors.length === 0 && rules === 0) yield warning('no guardrails are in force: everything is allowed', again)
    } catch (thrown) {
      yield error(`the guardrail files can't be read: ${messageOf(thrown)}`, 'correct GUARDRAILS_PATHS')
    }
  },
}

export interface Examined {
  name: string
  findings: Finding[]
}

/** Says which checks are left out because a driver of CSTP_DRIVERS keeps the files that they read. */
const checkDrivers: Check = {
  name: 'drivers',
  async *run(settings) {
    const foreign = await foreignPorts(settings)
    if (foreign.length === 0) return
    const skipped = checks.filter(({ files = [] }) => files.some((port) => foreign.includes(port)))
    yield note(
      unknownFiles(foreign, `left out ${skipped.map(({ name }) => name).join(', ')}`),
      'check them with the tools of the drivers',
    )
  },
}

const checks: readonly Check[] = [
  checkFolder,
  checkDatabases,
  checkFiles,
  checkErasures,
  checkVectors,
  checkSearch,
  checkEvidence,
  checkSessions,
  checkThread,
  checkKeys,
  checkGuardrails,
]

/** Runs all checks in sequence. @param env the environment, which clients would have too */
export async function* examine(settings: Settings, env: Record<string, string | undefined>): AsyncGenerator<Examined> {
  const all: Check[] = [{ name: 'settings', run: checkSettings }, checkDrivers, ...checks, checkHooks(env)]
  // A module that can't be loaded is a finding of the checks that need it.
  const foreign = await foreignPorts(settings).catch((): PortWithFiles[] => [])
  for (const { name, run, files = [] } of all) {
    if (files.some((port) => foreign.includes(port))) continue
    const findings: Finding[] = []
    try {
      for await (const finding of run(settings)) findings.push(finding)
    } catch (thrown) {
      findings.push(error(`could not be checked: ${messageOf(thrown)}`, 'fix the findings above first'))
    }
    yield { name, findings }
  }
}
