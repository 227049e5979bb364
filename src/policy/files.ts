/** Guardrail files on disk: read at start, and again when one of them changes or on request. If they are invalid, the last valid set stays in force. */
import { readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import attested from '../../guardrails/controls/attested.yaml' with { type: 'text' }
import euAiAct from '../../guardrails/controls/eu-ai-act.yaml' with { type: 'text' }
import euAiActAttested from '../../guardrails/controls/eu-ai-act-attested.yaml' with { type: 'text' }
import iso42001 from '../../guardrails/controls/iso-42001.yaml' with { type: 'text' }
import nistAiRmf from '../../guardrails/controls/nist-ai-rmf.yaml' with { type: 'text' }
import sr117 from '../../guardrails/controls/sr-11-7.yaml' with { type: 'text' }
import defaults from '../../guardrails/default.yaml' with { type: 'text' }
import dataProtection from '../../guardrails/templates/data-protection.yaml' with { type: 'text' }
import financialLimits from '../../guardrails/templates/financial-limits.yaml' with { type: 'text' }
import productionSafety from '../../guardrails/templates/production-safety.yaml' with { type: 'text' }
import secrets from '../../guardrails/templates/secrets.yaml' with { type: 'text' }
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import { textAt } from '../core/disk.ts'
import { causeOf, type Log } from '../core/log.ts'
import { remembered } from '../core/remembered.ts'
import { type ControlRules, compileControls } from '../domain/ledger/evidence/controls.ts'
import { parseControlFiles } from '../domain/ledger/evidence/rules.ts'
import { readersOfRequest } from '../domain/policy/rules/fact-names.ts'
import { parseRules } from '../domain/policy/rules/parse.ts'
import {
  type Built,
  buildPolicy,
  type ClosedLists,
  closedLists,
  openLists,
  type Policy,
  type PolicyFile,
  type PolicySet,
} from '../domain/policy/rules/set.ts'
import { addRuleFile } from './add.ts'
import { packFiles } from './packs.ts'
import { checkMs, ownPlace, type Packs, ruleFilesIn, shipped, stampOf } from './places.ts'

export { ruleFilesIn, shipped } from './places.ts'

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

/** The template with this name: in `templates/` next to the file that names it, else a shipped one. */
async function readTemplate(name: string, { name: beside, shipped }: PolicyFile): Promise<PolicyFile | null> {
  const folder = dirname(beside)
  const path = join(basename(folder) === 'templates' ? folder : join(folder, 'templates'), `${name}.yaml`)
  const own = shipped ? null : await textAt(path)
  return own === null ? shippedTemplate(name) : { name: path, text: own }
}

function shippedTemplate(name: string): PolicyFile | null {
  const text = Object.hasOwn(shippedTemplates, name) ? shippedTemplates[name] : undefined
  return text === undefined ? null : { name: `guardrails/templates/${name}.yaml`, text, shipped: true }
}

/** The files of a place: those directly in a directory, a single one, or the shipped ones. */
async function filesAt(place: string): Promise<PolicyFile[]> {
  if (place === shipped) return shippedRules
  const names = await ruleFilesIn(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') return [place]
    throw error
  })
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(name, 'utf8') })))
}

/** Files that are in force are read again whenever a workspace is opened. */
const mostFiles = 128
const parseFile = remembered(parseRules, mostFiles)

/** The packs that are in force; none if left out. */
export interface ReadPolicy extends Built {
  /** Directories without a rule file. */
  empty: string[]
  /** Rules on the task of a session, which hooks tell only where they keep the text of prompts. */
  untold: string[]
}

/**
 * Reads places once, in order, as one set: directories, files, or the word `shipped` for the rules of the program. A file that can't be
 * read is an error like any other. The closed lists of the settings, and the packs that they name, are rules of the set.
 */
export async function readPolicy(
  places: readonly string[],
  lists: ClosedLists & Packs = openLists,
): Promise<ReadPolicy> {
  const unreadable: RuleProblem[] = []
  const failed = (file: string, error: unknown) => {
    const message = `can't be read: ${causeOf(error)}`
    unreadable.push({ file, line: 1, column: 1, message })
  }
  const files: PolicyFile[] = []
  const empty: string[] = []
  const own = ownPlace(lists)
  for (const place of [...places, ...own.filter((one) => !places.includes(one))]) {
    try {
      const found = await filesAt(place)
      if (found.length === 0 && !own.includes(place)) empty.push(place)
      const inherited = lists.inherited?.guardrails_paths.includes(place) ?? false
      files.push(...found.map((file) => ({ ...file, inherited })))
    } catch (error) {
      if (own.includes(place) && (error as NodeJS.ErrnoException).code === 'ENOENT') continue
      failed((error as NodeJS.ErrnoException).path ?? place, error)
    }
  }
  const built = await buildPolicy(
    [...closedLists(lists), ...packFiles(lists), ...files],
    async (name, file) => {
      try {
        return await readTemplate(name, file)
      } catch (error) {
        failed((error as NodeJS.ErrnoException).path ?? name, error)
        return { name, text: '' }
      }
    },
    parseFile,
  )
  const errors = [...unreadable, ...built.errors]
  const untold = lists.hook_prompts === 'digest' ? readersOfRequest(built.set?.rules.map(({ rule }) => rule) ?? []) : []
  return { ...built, set: errors.length > 0 ? null : built.set, errors, empty, untold }
}

/** Logs what deserves attention in a set that loads. */
function announce({ set, replaced, empty, untold }: ReadPolicy, log: Log): void {
  for (const directory of empty) log('warn', 'no rule files in a directory of GUARDRAILS_PATHS', { directory })
  for (const { what, file, line } of replaced) log('info', `${what} replaces the shipped one`, { file, line })
  if (untold.length > 0)
    log('warn', 'rules read session.request, which hooks tell only with CSTP_HOOK_PROMPTS=text', { rules: untold })
  if (set?.rules.length === 0) log('warn', 'no guardrails are in force: everything is allowed')
}

/** Compiles a file that is not in force, with shipped templates only. */
export const compileDraft = (file: PolicyFile): Promise<Built> =>
  buildPolicy([file], async (name) => shippedTemplate(name))

/** Opens the policy. @throws PolicyError if the files can't be used: a server must not start without its rules */
export async function openPolicy(
  places: readonly string[],
  log: Log,
  now: () => number,
  /** Called with a changed set before it comes into force; if it fails, the last set stays. */
  enact: (set: PolicySet) => Promise<void>,
  lists: ClosedLists & Packs = openLists,
): Promise<Policy> {
  const first = await readPolicy(places, lists)
  if (!first.set) throw new PolicyError(first.errors)
  announce(first, log)
  let set = first.set
  let errors: RuleProblem[] = []
  let read_ms = now()
  const all = [...new Set([...places, ...ownPlace(lists)])]
  let stamp = await stampOf(all)
  let checked_ms = now()
  let reading: Promise<RuleProblem[]> | null = null
  let checking: Promise<unknown> | null = null

  const read = async (): Promise<RuleProblem[]> => {
    stamp = await stampOf(all)
    const found = await readPolicy(places, lists)
    if (found.set && found.set.hash !== set.hash) await enact(found.set)
    errors = found.errors
    read_ms = now()
    if (!found.set) {
      log('error', 'guardrail files are invalid; the last valid rules stay in force', { errors: errors.map(showError) })
    } else if (found.set.hash !== set.hash) {
      log('info', 'guardrails changed', { rules: found.set.rules.length, policy_hash: found.set.hash })
      announce(found, log)
    }
    if (found.set) set = found.set
    return errors
  }
  /** Reads are sequential: a reload must not return the result of a read that began before it was requested. */
  const reload = (): Promise<RuleProblem[]> => {
    const mine: Promise<RuleProblem[]> = (reading ?? Promise.resolve()).then(read).finally(() => {
      if (reading === mine) reading = null
    })
    reading = mine
    return mine
  }
  /** Reads the files again if one was added, changed or removed; looks at them every two seconds at most. */
  const check = async (): Promise<void> => {
    if (Math.abs(now() - checked_ms) < checkMs) return
    checked_ms = now()
    checking = stampOf(all)
      .then((found) => (found === stamp ? null : (reading ?? reload())))
      .finally(() => {
        checking = null
      })
    await checking
  }
  return {
    async current() {
      if (now() - read_ms >= freshMs) await (reading ?? reload())
      else await (checking ?? check())
      return set
    },
    reload,
    errors: () => errors,
    draft: compileDraft,
    async add(name, text) {
      const before = await reload()
      if (before.length > 0) return { file: null, errors: before }
      const taken = { file: name, line: 1, column: 1, message: `there is a file ${name} already` }
      const path = await addRuleFile(all, name, text).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return taken
        throw error
      })
      if (path === null) return { file: null, errors: [] }
      if (typeof path === 'object') return { file: null, errors: [path] }
      const after = await reload().catch(async (error: unknown) => {
        await rm(path, { force: true })
        throw error
      })
      if (after.length === 0) return { file: path, errors: [] }
      await rm(path, { force: true })
      await reload()
      return { file: null, errors: after }
    },
  }
}

/** The rules in force by default. */
export const shippedRules: PolicyFile[] = [{ name: 'guardrails/default.yaml', text: defaults, shipped: true }]

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

/** Control rules that are applied if a setting names them. A test compares them with the folder too. */
export const controlPacks: Readonly<Record<string, typeof shippedControls>> = {
  'eu-ai-act': [
    { name: 'guardrails/controls/eu-ai-act.yaml', text: euAiAct },
    { name: 'guardrails/controls/eu-ai-act-attested.yaml', text: euAiActAttested },
  ],
  'iso-42001': [{ name: 'guardrails/controls/iso-42001.yaml', text: iso42001 }],
}

/**
 * The default control rules, and those of packs: each is the name of a shipped pack, or the path of a file.
 * @throws PolicyError with everything that is wrong
 */
export async function openControls(packs: readonly string[]): Promise<ControlRules> {
  const files = [...shippedControls]
  for (const pack of new Set(packs)) {
    if (Object.hasOwn(controlPacks, pack)) {
      files.push(...controlPacks[pack]!)
      continue
    }
    const text = await readFile(pack, 'utf8').catch((error: unknown) => {
      const known = Object.keys(controlPacks).join(', ')
      const message = `can't be read: ${causeOf(error)}; expected a file of control rules, or one of ${known}`
      throw new PolicyError([{ file: pack, line: 1, column: 1, message }])
    })
    files.push({ name: pack, text })
  }
  return loadControls(files)
}

/** @throws PolicyError with everything that is wrong */
export function loadControls(files = shippedControls): ControlRules {
  const { sets, errors } = parseControlFiles(files)
  if (errors.length > 0) throw new PolicyError(errors)
  return compileControls(sets)
}
