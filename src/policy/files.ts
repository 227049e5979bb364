/** Guardrail files on disk: read at start, and again after five minutes or on request; the last valid set stays in force meanwhile. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import attested from '../../guardrails/controls/attested.yaml' with { type: 'text' }
import nistAiRmf from '../../guardrails/controls/nist-ai-rmf.yaml' with { type: 'text' }
import sr117 from '../../guardrails/controls/sr-11-7.yaml' with { type: 'text' }
import defaults from '../../guardrails/default.yaml' with { type: 'text' }
import dataProtection from '../../guardrails/templates/data-protection.yaml' with { type: 'text' }
import financialLimits from '../../guardrails/templates/financial-limits.yaml' with { type: 'text' }
import productionSafety from '../../guardrails/templates/production-safety.yaml' with { type: 'text' }
import secrets from '../../guardrails/templates/secrets.yaml' with { type: 'text' }
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import type { Log } from '../core/log.ts'
import { type ControlRules, compileControls } from '../domain/evidence/controls.ts'
import { parseControlFiles } from '../domain/evidence/rules.ts'
import { type ClosedLists, closedLists, openLists } from '../domain/guardrail/closed.ts'
import { buildPolicy, type Policy, type PolicyFile, type PolicySet } from '../domain/guardrail/set.ts'

const freshMs = 300_000

const showError = ({ file, line, column, message }: RuleProblem): string => `${file}:${line}:${column}: ${message}`

/** The files can't be used; `problems` has a line for each error. */
export class PolicyError extends Error {
  override name = 'PolicyError'
  readonly problems: string[]

  constructor(errors: readonly RuleProblem[]) {
    super(`The guardrail files are invalid:\n${errors.map((error) => `  ${showError(error)}`).join('\n')}`)
    this.problems = errors.map(showError)
  }
}

const unreadable = (file: string, error: unknown): RuleProblem => ({
  file,
  line: 1,
  column: 1,
  message: `can't be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
})

/** Paths of the rule files directly in a directory, in order, without table tests. */
export async function ruleFilesIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/.test(entry.name) && !/\.test\.ya?ml$/.test(entry.name))
    .map(({ name }) => join(directory, name))
    .sort()
}

/** The template of a name: in `templates/` beside the file that names it, else a shipped one. */
async function readTemplate(name: string, { name: beside }: PolicyFile): Promise<PolicyFile | null> {
  const folder = dirname(beside)
  const path = join(basename(folder) === 'templates' ? folder : join(folder, 'templates'), `${name}.yaml`)
  try {
    return { name: path, text: await readFile(path, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const text = Object.hasOwn(shippedTemplates, name) ? shippedTemplates[name] : undefined
    return text === undefined ? null : { name: `guardrails/templates/${name}.yaml`, text }
  }
}

/** Reads these files as one set. A file that can't be read is an error like any other. */
export async function readFiles(
  names: readonly string[],
  lists = openLists,
): Promise<{ set: PolicySet | null; errors: RuleProblem[] }> {
  const errors: RuleProblem[] = []
  const files = await Promise.all(
    names.map(async (name): Promise<PolicyFile[]> => {
      try {
        return [{ name, text: await readFile(name, 'utf8') }]
      } catch (error) {
        errors.push(unreadable(name, error))
        return []
      }
    }),
  )
  const built = await buildPolicy([...closedLists(lists), ...files.flat()], readTemplate)
  return errors.length > 0 ? { set: null, errors: [...errors, ...built.errors] } : built
}

/** Reads the directories once; the shipped rules for null. The settings' closed lists are rules of the set. */
export async function readPolicy(
  directories: readonly string[] | null,
  lists: ClosedLists = openLists,
): Promise<{ set: PolicySet | null; errors: RuleProblem[] }> {
  if (directories === null) return buildPolicy([...closedLists(lists), ...shippedRules], readTemplate)
  const errors: RuleProblem[] = []
  const names: string[] = []
  for (const directory of directories) {
    try {
      names.push(...(await ruleFilesIn(directory)))
    } catch (error) {
      errors.push(unreadable(directory, error))
    }
  }
  try {
    const built = await readFiles(names, lists)
    return errors.length > 0 ? { set: null, errors: [...errors, ...built.errors] } : built
  } catch (error) {
    return { set: null, errors: [...errors, unreadable('templates', error)] }
  }
}

/** Opens the policy. @throws PolicyError if the files can't be used: a server must not start without its rules */
export async function openPolicy(
  directories: readonly string[] | null,
  log: Log,
  now: () => number,
  /** Called with a changed set before it comes into force; if it fails, the last set stays. */
  enact: (set: PolicySet) => Promise<void>,
  lists = openLists,
): Promise<Policy> {
  const first = await readPolicy(directories, lists)
  if (!first.set) throw new PolicyError(first.errors)
  let set = first.set
  let errors: RuleProblem[] = []
  let read_ms = now()
  let reading: Promise<RuleProblem[]> | null = null

  const read = async (): Promise<RuleProblem[]> => {
    const found = await readPolicy(directories, lists)
    if (found.set && found.set.hash !== set.hash) await enact(found.set)
    errors = found.errors
    read_ms = now()
    if (!found.set) {
      log('error', 'guardrail files are invalid; the last valid rules stay in force', { errors: errors.map(showError) })
    } else if (found.set.hash !== set.hash) {
      log('info', 'guardrails changed', { rules: found.set.rules.length, policy_hash: found.set.hash })
    }
    if (found.set) set = found.set
    return errors
  }
  /** One read after the other: a reload must not return what was read before it was requested. */
  const reload = (): Promise<RuleProblem[]> => {
    const mine: Promise<RuleProblem[]> = (reading ?? Promise.resolve()).then(read).finally(() => {
      if (reading === mine) reading = null
    })
    reading = mine
    return mine
  }
  return {
    async current() {
      if (now() - read_ms >= freshMs) await (reading ?? reload())
      return set
    },
    reload,
    errors: () => errors,
  }
}

/** Rules in force if no directory is configured. */
export const shippedRules = [{ name: 'guardrails/default.yaml', text: defaults }]

/** Templates by name, which any file may load. A test compares them with the folder. */
export const shippedTemplates: Readonly<Record<string, string>> = {
  'data-protection': dataProtection,
  'financial-limits': financialLimits,
  'production-safety': productionSafety,
  secrets,
}

/** Control rules, in the order of the report. A test compares them with the folder. */
export const shippedControls = [
  { name: 'guardrails/controls/sr-11-7.yaml', text: sr117 },
  { name: 'guardrails/controls/nist-ai-rmf.yaml', text: nistAiRmf },
  { name: 'guardrails/controls/attested.yaml', text: attested },
]

/** @throws PolicyError with everything that is wrong */
export function loadControls(files = shippedControls): ControlRules {
  const { sets, errors } = parseControlFiles(files)
  if (errors.length > 0) throw new PolicyError(errors)
  return compileControls(sets)
}
