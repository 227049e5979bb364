/** Help texts, derived from what the commands declare. */
import { type SettingName, settings, shownDefault } from '../app/config/config.ts'
import { version } from '../core/version.ts'
import { everywhere, usageOf, verbOf } from './args.ts'
import type { Command, Flags } from './command.ts'
import { pad, type Terminal, wrap } from './terminal.ts'

const widest = 100

/** Two columns: names and wrapped descriptions. */
function entries(rows: readonly (readonly [string, string])[], { width, paint }: Terminal): string[] {
  const left = Math.min(28, Math.max(0, ...rows.map(([name]) => name.length)))
  const room = Math.max(30, Math.min(width, widest) - left - 4)
  return rows.flatMap(([name, about]) => {
    const [first = '', ...rest] = wrap(about, room)
    const lines = rest.map((line) => ' '.repeat(left + 4) + line)
    // A name wider than the column gets its own line.
    if (name.length > left) return [`  ${paint.cyan(name)}`, ' '.repeat(left + 4) + first, ...lines]
    return [`  ${paint.cyan(pad(name, left))}  ${first}`, ...lines]
  })
}

const flagRows = (flags: Flags): [string, string][] =>
  Object.entries(flags).map(([name, { kind, value = 'value', about }]) => [
    `--${name}${kind === 'switch' ? '' : ` <${value}>`}`,
    kind === 'list' || kind === 'texts' ? `${about} May be given several times.` : about,
  ])

const verbRows = (verbs: readonly Command[]): [string, string][] =>
  verbs.map((one) => [`${verbOf(one)} ${one.usage}`.trim(), one.summary])

const paragraphs = (texts: readonly string[], width: number): string[] =>
  texts.flatMap((text) => ['', ...wrap(text, Math.min(width, widest))])

/** `cstp help` */
export function overview(commands: readonly Command[], terminal: Terminal): string {
  const { paint } = terminal
  return [
    `${paint.bold('cstp')} ${version}: decision memory and policy service for software agents`,
    '',
    'usage: cstp <command> [flags]',
    '',
    ...entries(
      commands.map(({ name, summary }) => [name, summary] as const),
      terminal,
    ),
    '',
    ...entries(
      [
        ['cstp help <command>', 'what a command does, its flags, and examples'],
        ['cstp help settings', 'every setting; each is a flag of every command too'],
      ],
      terminal,
    ),
    ...paragraphs(['Start with cstp serve; it prints where the data is stored and a line to try.'], terminal.width),
    '',
  ].join('\n')
}

/** `cstp help <command>` */
export async function commandHelp(command: Command, words: readonly string[], terminal: Terminal): Promise<string> {
  const { name, summary, about, flags, examples, verbs = [] } = command
  const { paint, width } = terminal
  const { json, help, config } = everywhere
  const more = await command.more?.(words)
  const rest = more
    ? [
        `${more.title}:`,
        ...paragraphs(more.about ? [more.about] : [], width),
        ...(more.about ? [''] : []),
        ...entries(more.rows, terminal),
      ]
    : []
  if (more?.alone) return [...rest, ''].join('\n')
  return [
    `${paint.bold(`cstp ${name}`)}: ${summary}`,
    '',
    `usage: cstp ${usageOf(command)}`,
    ...paragraphs(about, width),
    '',
    ...(verbs.length > 0 ? [...entries(verbRows(verbs), terminal), ''] : []),
    ...entries(flagRows({ ...flags, json, config, help }), terminal),
    ...(examples.length > 0 ? ['', 'examples:'] : []),
    ...examples.flatMap(([line, what]) => [`  ${paint.cyan(line)}`, `      ${what}`]),
    ...(more ? ['', ...rest] : []),
    '',
    'Every setting is a flag as well (--data-dir, --port …): cstp help settings',
    '',
  ].join('\n')
}

/** `cstp help settings` */
export function settingsHelp(terminal: Terminal): string {
  const rows = (Object.keys(settings) as SettingName[]).flatMap((name) => {
    const { flag, env, yaml, about } = settings[name]
    const own = shownDefault(name)
    const shown = own === '' ? '' : ` Default: ${own}.`
    return ['', ...entries([[flag, `${about}${shown}`]], terminal), `      ${env}   ${yaml} in the YAML file`]
  })
  return [
    `${terminal.paint.bold('Settings')}: default, then YAML file, then environment, then flag; the last one wins.`,
    ...paragraphs(
      [
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of the file
        'The YAML file is given with --config or CSTP_CONFIG. In it ${VAR} is replaced by an environment variable; one that is not set is an error. cstp config prints the settings in effect and their sources.',
      ],
      terminal.width,
    ),
    ...rows,
    '',
  ].join('\n')
}
