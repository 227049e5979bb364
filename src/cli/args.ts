/** Splits a command line into command, arguments and flags; suggests a correction if it can't. */
import { parseArgs } from 'node:util'
import { nearest } from '../../sdk/nearest.ts'
import { settings } from '../app/config/config.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { type Command, type Flags, toggle, type Values, value } from './command.ts'
import { misuse } from './failure.ts'

/** Flags that every command accepts. */
export const everywhere = {
  json: toggle('Print JSON for programs.'),
  help: toggle('Print this help.'),
  version: toggle('Print the version.'),
  config: value('file', 'YAML file with settings (CSTP_CONFIG).'),
} as const satisfies Flags

/** Every setting is a flag of every command. */
export const settingFlags: Flags = Object.fromEntries(
  Object.values(settings).map(({ flag, about }) => [flag.slice(2), { kind: 'value', value: 'value', about }]),
)

const tokensOf = (args: readonly string[], flags: Flags) =>
  parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(flags).map(([name, { kind }]) => [
        name,
        { type: kind === 'switch' ? 'boolean' : 'string', ...(name === 'help' && { short: 'h' }) },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens

/** The command's name and all other arguments; flags may precede the name. */
export function splitCommand(argv: readonly string[], all: Flags): { name: string | null; rest: string[] } {
  const first = tokensOf(argv, all).find(({ kind }) => kind === 'positional')
  if (!first) return { name: null, rest: [...argv] }
  return { name: argv[first.index]!, rest: argv.filter((_, index) => index !== first.index) }
}

export interface Parsed<F extends Flags> {
  flags: Values<F> & Values<Omit<typeof everywhere, 'config'>>
  words: string[]
  /** Values of settings by flag, in the form that loadSettings takes. */
  settings: Record<string, string>
}

/**
 * @param hint what the error of an unknown flag says at its end
 * @throws Failure naming the flag that is unknown, lacks its value, or takes none
 */
export function parseFlags<F extends Flags>(rest: readonly string[], own: F, hint = ''): Parsed<F> {
  const { json, help, version } = everywhere
  const counted: Flags = { json, help, version, ...own }
  const known: Flags = { ...settingFlags, ...everywhere, ...counted }
  const flags: Record<string, boolean | string | string[] | undefined> = {}
  for (const [name, { kind }] of Object.entries(counted))
    flags[name] = kind === 'switch' ? false : kind === 'value' ? undefined : []
  const parsed: Parsed<F> = { flags: flags as Parsed<F>['flags'], words: [], settings: {} }

  for (const token of tokensOf(rest, known)) {
    if (token.kind === 'positional') parsed.words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    if (!Object.hasOwn(known, name)) {
      const near = name.length > 1 ? nearest(name, Object.keys(known)) : null
      throw misuse(`unknown flag ${rawName}${near ? `; did you mean --${near}?` : ''}${hint}`)
    }
    const { kind, value: placeholder = 'value', choices } = known[name]!
    if (kind === 'switch') {
      if (value !== undefined) throw misuse(`${rawName} takes no value`)
      flags[name] = true
      continue
    }
    if (value === undefined || (!inlineValue && value.startsWith('--')))
      throw misuse(`${rawName} needs a value: ${rawName} <${placeholder}>`)
    const parts = kind === 'list' ? value.split(',').map((one) => one.trim()) : [value]
    const odd = choices && parts.find((one) => !choices.includes(one))
    if (odd !== undefined) throw misuse(`${rawName}: expected ${choices!.join(', ')}; received ${JSON.stringify(odd)}`)
    if (kind === 'list' || kind === 'texts') (flags[name] as string[]).push(...parts)
    else if (Object.hasOwn(counted, name)) flags[name] = value
    else parsed.settings[`--${name}`] = value
  }
  return parsed
}

/** The word that selects a subcommand. */
export const verbOf = ({ name }: Command): string => name.split(' ').at(-1)!

/** The usage of a command, without `cstp`. */
export const usageOf = ({ name, usage, verbs = [], run }: Command): string =>
  [name, ...(run ? [usage, '[flags]'] : [verbs.map(verbOf).join(' | ')])].filter((part) => part !== '').join(' ')

/** @throws Failure if arguments are missing or left over, or if the first one is not a subcommand */
export function checkWords(command: Command, words: readonly string[]): void {
  const { name, usage, verbs = [], run } = command
  const named = usage.replace(/(?<!\S)--\S+ <[^>]*>/g, '').match(/<[^>]*>|\[[^\]]*\]/g) ?? []
  const least = run ? named.filter((one) => one.startsWith('<')).length : 1
  const most = named.some((one) => one.includes('…')) ? Number.POSITIVE_INFINITY : named.length
  const correct = `usage: cstp ${usageOf(command)}`
  if (words.length < least) throw misuse(`missing argument; ${correct}`)
  if (words.length <= most) return
  const known = verbs.map(verbOf)
  if (known.length > 0)
    throw misuse(
      `${JSON.stringify(withoutSecrets(words[0]!))} is not one of ${known.join(', ')}; see cstp help ${name}`,
    )
  throw misuse(`unexpected argument ${JSON.stringify(withoutSecrets(words[most]!))}; ${correct}`)
}

/** Parses a whole number. @throws Failure if it is not one of at least `least` and at most `most` */
export function wholeOf(name: string, given: string, least = 0, most = Number.MAX_SAFE_INTEGER): number {
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= least && number <= most) return number
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  throw misuse(`${name} needs a whole number from ${least}${upTo}, received ${JSON.stringify(given)}`)
}

/** Parses a number given as a flag. @throws Failure if it is not a number */
export function numberOf(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number))
    throw misuse(`--${name} needs a number, received ${JSON.stringify(value)}`)
  return number
}
