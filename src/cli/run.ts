/** Runs a command line, and maps errors to a message and an exit status: 0 success, 1 failure, 2 invalid command line or settings. */
import { readFile } from 'node:fs/promises'
import { nearest } from '../../sdk/nearest.ts'
import { loadSettings } from '../app/config/config.ts'
import { version } from '../core/version.ts'
import { checkWords, everywhere, parseFlags, settingFlags, splitCommand } from './args.ts'
import type { Command, Flag, Flags } from './command.ts'
import { commands } from './commands.ts'
import { describe, errorJson, type Failure, misuse, statusOf } from './failure.ts'
import { commandHelp, overview, settingsHelp } from './help.ts'
import { jsonLine, openTerminal, type Terminal } from './terminal.ts'

const interrupted = 130

/** A signal that aborts at Ctrl-C and SIGTERM; a second one ends the process at once. */
function stopSignal(reloads: boolean): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', ...(reloads ? [] : (['SIGHUP'] as const))] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(interrupted)
      stopping.abort(new Error('interrupted'))
    })
  }
  return stopping.signal
}

const unknownOf = (kind: string, name: string, known: readonly string[], where: string): Failure => {
  const near = nearest(name, known)
  return misuse(`unknown ${kind} ${JSON.stringify(name)}${near ? `; did you mean ${near}?` : ''} (${where})`)
}

/** The command of this name, or the subcommand named by the next word, with the remaining words. */
function find(name: string, words: readonly string[]): { command: Command; words: string[] } {
  const found = commands.find((one) => one.name === name)
  if (!found)
    throw unknownOf(
      'command',
      name,
      commands.map((one) => one.name),
      'cstp help lists them',
    )
  const [verb, ...rest] = words
  const part = found.verbs?.find((one) => one.name === `${name} ${verb}`)
  return part ? { command: part, words: rest } : { command: found, words: [...words] }
}

async function help(words: readonly string[], terminal: Terminal): Promise<void> {
  const [name, ...rest] = words
  if (name === undefined) return terminal.out(overview(commands, terminal))
  if (name === 'settings') return terminal.out(settingsHelp(terminal))
  const { command, words: left } = find(name, rest)
  await terminal.out(await commandHelp(command, left, terminal))
}

/** The flags of a command and its subcommands. A name may have other choices in each. */
const flagsOf = ({ flags, verbs = [] }: Command): Flags => {
  const own = Object.entries<Flag>(flags).map(([name, { choices: _, ...flag }]) => [name, flag])
  return Object.assign(Object.fromEntries(own), ...verbs.map(flagsOf))
}

async function execute(argv: string[], terminal: Terminal, env: NodeJS.ProcessEnv): Promise<number> {
  const all: Flags = Object.assign({}, settingFlags, everywhere, ...commands.map(flagsOf))
  const { name, rest } = splitCommand(argv, all)
  const takesCommand = commands.some((one) => one.name === name && one.usage.startsWith('[--'))
  const given = parseFlags(rest, all, takesCommand ? " (flags of the server's command come after --)" : '')
  const found = name === null || name === 'help' ? null : find(name, given.words)
  // Report a mistyped subcommand before its flags, which would be unknown too.
  if (found?.command.verbs && !given.flags.help && !given.flags.version) checkWords(found.command, found.words)
  const { flags, settings } = parseFlags(rest, found?.command.flags ?? {})
  if (flags.version) {
    await terminal.out(`${version}\n`)
    return 0
  }
  if (!found || flags.help) {
    await help(found ? [name!, ...given.words] : given.words, terminal)
    // Exit with an error if no command was given, so that a script notices.
    return argv.length === 0 ? 2 : 0
  }
  const { command, words } = found
  checkWords(command, words)
  const status = await command.run?.({
    flags,
    words,
    json: flags.json,
    terminal,
    env,
    configuration: () => loadSettings({ env, flags: settings, readFile: (path) => readFile(path, 'utf8') }),
    signal: stopSignal(command.reloads ?? false),
  })
  return status ?? 0
}

/** Runs a command line. Resolves with the exit status. */
export async function run(argv: string[]): Promise<number> {
  const { env } = process
  const terminal = openTerminal(env)
  try {
    return await execute(argv, terminal, env)
  } catch (error) {
    if (argv.includes('--json')) terminal.note(jsonLine(errorJson(error)))
    else terminal.note(`${terminal.notePaint.red('cstp:')} ${describe(error)}\n`)
    return statusOf(error)
  }
}
