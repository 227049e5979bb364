/** What a command declares: its help, its flags and its work. Parsing and help derive from it. */
import type { Configuration } from '../app/config/config.ts'
import type { Terminal } from './terminal.ts'

export interface Flag {
  /** `switch` is on or off, `value` takes one text, `list` may be given several times or with commas. */
  kind: 'switch' | 'value' | 'list'
  /** The placeholder of the value in the help, such as `n`. */
  value?: string
  about: string
}
export type Flags = Record<string, Flag>

/** The values of declared flags: undefined or an empty list if not given. */
export type Values<F extends Flags> = {
  [K in keyof F]: F[K]['kind'] extends 'switch' ? boolean : F[K]['kind'] extends 'list' ? string[] : string | undefined
}

/** One run of a command. */
export interface Run<F extends Flags = Flags> {
  flags: Values<F>
  /** The arguments that are not flags. */
  words: string[]
  /** Whether the output is for a program. */
  json: boolean
  terminal: Terminal
  env: Record<string, string | undefined>
  /** @throws ConfigError with everything that is wrong */
  configuration(): Promise<Configuration>
  /** Aborts at Ctrl-C and SIGTERM; the second one ends the process. */
  signal: AbortSignal
}

export interface Command<F extends Flags = Flags> {
  name: string
  /** What follows the name, such as `<text>`. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Paragraphs for the help. */
  about: string[]
  flags: F
  /** Least and greatest number of arguments that are not flags. */
  words: [least: number, most: number]
  /** Command lines with what they do. */
  examples: [line: string, about: string][]
  /** Rows for the end of the help that take time to gather: a title, then names and what they are. */
  more?(): Promise<{ title: string; rows: [name: string, about: string][] }>
  /** True if SIGHUP means a reload, which the command handles, instead of an end. */
  reloads?: boolean
  /** Resolves with the exit status. */
  run(run: Run<F>): Promise<number>
}

/** Declares a command; the identity, with the values' types inferred from the flags. */
export const defineCommand = <const F extends Flags>(command: Command<F>): Command<F> => command
