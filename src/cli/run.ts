/** From argv to a command, and from an error to a message and an exit status: 0 done, 1 failed, 2 a wrong command line or settings. */
import { readFile } from 'node:fs/promises'
import { nearest } from '../../sdk/nearest.ts'
import { loadSettings } from '../app/config/config.ts'
import { version } from '../core/version.ts'
import { checkWords, everywhere, parseFlags, settingFlags, splitCommand } from './args.ts'
import type { Command, Flags } from './command.ts'
import { commands } from './commands.ts'
import { describe, errorJson, misuse, statusOf } from './failure.ts'
import { commandHelp, overview, settingsHelp } from './help.ts'
import { jsonLine, openTerminal, type Terminal } from './terminal.ts'

const interrupted = 130

/** A signal that aborts at Ctrl-C and SIGTERM; the second one ends the process at once. */
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

function find(name: string): Command {
  const found = commands.find((one) => one.name === name)
  if (found) return found
  const near = nearest(
    name,
    commands.map((one) => one.name),
  )
  throw misuse(`unknown command ${JSON.stringify(name)}${near ? `; did you mean ${near}?` : ''} (cstp help lists them)`)
}

async function help(name: string | undefined, terminal: Terminal): Promise<void> {
  if (name === undefined) await terminal.out(overview(commands, terminal))
  else if (name === 'settings') await terminal.out(settingsHelp(terminal))
  else await terminal.out(await commandHelp(find(name), terminal))
}

async function execute(argv: string[], terminal: Terminal, env: NodeJS.ProcessEnv): Promise<number> {
  const all: Flags = Object.assign({}, settingFlags, everywhere, ...commands.map(({ flags }) => flags))
  const { name, rest } = splitCommand(argv, all)
  const command = name === null || name === 'help' ? null : find(name)
  const { flags, words, settings } = parseFlags(rest, command?.flags ?? {})
  if (flags.version) {
    await terminal.out(`${version}\n`)
    return 0
  }
  if (!command || flags.help) {
    await help(command ? command.name : words[0], terminal)
    // No command is not a success: a script that forgot it should notice.
    return argv.length === 0 ? 2 : 0
  }
  checkWords(command, words)
  return command.run({
    flags,
    words,
    json: flags.json,
    terminal,
    env,
    configuration: () => loadSettings({ env, flags: settings, readFile: (path) => readFile(path, 'utf8') }),
    signal: stopSignal(command.reloads ?? false),
  })
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
