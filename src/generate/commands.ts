/** The reference page of the command line, derived from the declarations of the commands. */
import { usageOf, verbOf } from '../cli/args.ts'
import type { Command, Flags } from '../cli/command.ts'
import { commands } from '../cli/commands.ts'
import { connectionFlags } from '../cli/connection.ts'
import { cell, page, table } from './markdown.ts'

/** @param known flags that are documented elsewhere */
function flagTable(flags: Flags, known: Flags = connectionFlags): string[] {
  const own = Object.entries(flags).filter(([name]) => flags[name] !== known[name])
  if (own.length === 0) return []
  const rows = own.map(([name, { kind, value = 'value', about }]) => {
    const shown = kind === 'switch' ? `--${name}` : `--${name} <${value}>`
    const often = kind === 'list' || kind === 'texts' ? ' May be given several times.' : ''
    return [`\`${cell(shown)}\``, `${cell(about)}${often}`]
  })
  return [table(['Flag', 'Meaning'], rows)]
}

function section(command: Command, level: string): string[] {
  const { name, summary, about, flags, verbs = [], examples } = command
  const connects = 'url' in flags && 'local' in flags ? ['Takes the flags of a connection.'] : []
  return [
    `${level} cstp ${name}`,
    summary,
    ['```text', `cstp ${usageOf(command)}`, '```'].join('\n'),
    ...about,
    ...(verbs.length > 0 ? [verbs.map((one) => `- \`${verbOf(one)}\`: ${one.summary}`).join('\n')] : []),
    ...flagTable(flags),
    ...connects,
    ['```sh', ...examples.flatMap(([line, what]) => [`# ${what}`, line]), '```'].join('\n'),
    ...verbs.flatMap((one) => section(one, `${level}#`)),
  ]
}

export function commandsPage(): string {
  const about =
    'Every command takes `--json` (output for programs), `--help`, `--config <file>`, and every [setting](settings.md) as a flag. The exit status is 0 for success, 1 for a failure or a problem found, 2 for an invalid command line or invalid settings, 3 for an alarm of `cstp witness`, 130 after Ctrl-C. Reads by a command are never part of the deliberation of a decision.'
  const connection = [
    '## Connection',
    'Commands that call methods connect to the server at `--host` and `--port`, or open the data directory directly.',
    ...flagTable(connectionFlags, {}),
  ]
  return page('Commands', about, ...connection, ...commands.flatMap((one) => section(one, '##')))
}
