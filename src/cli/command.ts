/** Declaration of a command: its help, flags and work. Parsing and help texts derive from it. */
import type { Configuration } from '../app/config/config.ts'
import type { Terminal } from './terminal.ts'

export interface Flag {
  /** `switch`: on or off; `value`: one text; `list`: short texts, repeated or separated by commas; `texts`: one text for each use. */
  kind: 'switch' | 'value' | 'list' | 'texts'
  /** The placeholder of the value in the help, such as `n`. */
  value?: string
  about: string
}
export type Flags = Record<string, Flag>

/** Values of declared flags: undefined or an empty list if not given. */
export type Values<F extends Flags> = {
  [K in keyof F]: F[K]['kind'] extends 'switch'
    ? boolean
    : F[K]['kind'] extends 'list' | 'texts'
      ? string[]
      : F[K]['kind'] extends 'value'
        ? string | undefined
        : boolean | string | string[] | undefined
}

/** One run of a command. */
export interface Run<F extends Flags = Flags> {
  flags: Values<F>
  /** Positional arguments. */
  words: string[]
  /** Whether the output is JSON for a program. */
  json: boolean
  terminal: Terminal
  env: Record<string, string | undefined>
  /** @throws ConfigError with all invalid settings */
  configuration(): Promise<Configuration>
  /** Aborts at Ctrl-C and SIGTERM; a second one ends the process. */
  signal: AbortSignal
}

/** Names and their descriptions, under a title. */
export interface More {
  title: string
  about?: string
  rows: [name: string, about: string][]
  /** True if it replaces the rest of the help. */
  alone?: true
}

export interface Command<F extends Flags = Flags> {
  name: string
  /** Text after the name in the usage line, such as `<text>`. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Paragraphs for the help. */
  about: string[]
  flags: F
  /** Minimum and maximum number of positional arguments. */
  words: [least: number, most: number]
  /** Example command lines with descriptions. */
  examples: [line: string, about: string][]
  /** Subcommands, selected by the first argument; the name of each begins with the name of this command. */
  verbs?: readonly Command[]
  /** Additional help that takes time to compute. @param words the arguments after the name */
  more?(words: readonly string[]): Promise<More>
  /** True if SIGHUP means reload, which the command handles itself, rather than exit. */
  reloads?: boolean
  /** Resolves with the exit status. */
  run(run: Run<F>): Promise<number>
}

/** Declares a command; the identity, with the values' types inferred from the flags. */
export const defineCommand = <const F extends Flags>(command: Command<F>): Command<F> => command
