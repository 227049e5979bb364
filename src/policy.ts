/** Guardrail files on disk: read at start, read again after five minutes or when told to, the last good set in force meanwhile. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { RuleError } from './domain/guardrail/parse.ts'
import { buildPolicy, type PolicyFile, type PolicySet } from './domain/guardrail/set.ts'
import type { Log } from './surfaces/log.ts'

/** The rules that come with the program. */
export const shippedGuardrails = join(import.meta.dir, '..', 'guardrails')

export interface Policy {
  /** The set in force, at most five minutes old. */
  current(): Promise<PolicySet>
  /** Reads the files now. What is wrong with them is returned; the last good set stays in force then. */
  reload(): Promise<RuleError[]>
  /** What was wrong at the last reading. */
  errors(): RuleError[]
}

const freshMs = 300_000

/** Thrown at start when the files can't be used. */
export class PolicyError extends Error {
  constructor(errors: readonly RuleError[]) {
    super(`The guardrail files are wrong:\n${errors.map(showError).join('\n')}`)
    this.name = 'PolicyError'
  }
}

export const showError = ({ file, line, column, message }: RuleError): string =>
  `  ${file}:${line}:${column}: ${message}`

/** Files directly in a directory, in the order of their names; table tests are not rules. */
async function filesIn(directory: string): Promise<PolicyFile[]> {
  const names = (await readdir(directory, { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/.test(entry.name) && !/\.test\.ya?ml$/.test(entry.name))
    .map(({ name }) => join(directory, name))
    .sort()
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(name, 'utf8') })))
}

async function readTemplate(name: string, { name: beside }: PolicyFile): Promise<PolicyFile | null> {
  const folder = dirname(beside)
  const path = join(basename(folder) === 'templates' ? folder : join(folder, 'templates'), `${name}.yaml`)
  try {
    return { name: path, text: await readFile(path, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Reads the directories once. A directory that can't be read is an error like any other. */
export async function readPolicy(
  directories: readonly string[],
): Promise<{ set: PolicySet | null; errors: RuleError[] }> {
  const files: PolicyFile[] = []
  const errors: RuleError[] = []
  for (const directory of directories) {
    try {
      files.push(...(await filesIn(directory)))
    } catch (error) {
      errors.push({
        file: directory,
        line: 1,
        column: 1,
        message: `can't be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
      })
    }
  }
  const built = await buildPolicy(files, readTemplate)
  return errors.length > 0 ? { set: null, errors: [...errors, ...built.errors] } : built
}

/** Opens the policy. @throws PolicyError when the files can't be used at all: a server must not start without its rules */
export async function openPolicy(directories: readonly string[], log: Log, now: () => number): Promise<Policy> {
  const first = await readPolicy(directories)
  if (!first.set) throw new PolicyError(first.errors)
  let set = first.set
  let errors: RuleError[] = []
  let read_ms = now()
  let reading: Promise<RuleError[]> | null = null

  const reload = (): Promise<RuleError[]> => {
    reading ??= readPolicy(directories)
      .then((found) => {
        errors = found.errors
        if (found.set) set = found.set
        else
          log('error', 'guardrail files are wrong; the last good rules stay in force', {
            errors: errors.map(showError),
          })
        return errors
      })
      .finally(() => {
        read_ms = now()
        reading = null
      })
    return reading
  }
  return {
    async current() {
      if (now() - read_ms >= freshMs) await reload()
      return set
    },
    reload,
    errors: () => errors,
  }
}
