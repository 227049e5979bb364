/** What a command declares: its help, its flags and its work. Parsing and help derive from it. */
import type { Configuration } from '../app/config/config.ts'
import type { Terminal } from './terminal.ts'

export interface Flag {
  /** `switch` is on or off, `value` takes one text, `list` short ones, several times or with commas, `texts` one each time it is given. */
  kind: 'switch' | 'value' | 'list' | 'texts'
  /** The placeholder of the value in the help, such as `n`. */
  value?: string
  about: string
}
export type Flags = Record<string, Flag>

/** The values of declared flags: undefined or an empty list if not given. */
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

/** Names and what they are, under a title. */
export interface More {
  title: string
  about?: string
  rows: [name: string, about: string][]
  /** True if the rest of the help has nothing to do with it. */
  alone?: true
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
  /** Parts of the command that are chosen by its first argument; the name of each is that of the command and its own. */
  verbs?: readonly Command[]
  /** More of the help that takes time to gather. @param words what follows the name */
  more?(words: readonly string[]): Promise<More>
  /** True if SIGHUP means a reload, which the command handles, instead of an end. */
  reloads?: boolean
  /** Resolves with the exit status. */
  run(run: Run<F>): Promise<number>
}

/** Declares a command; the identity, with the values' types inferred from the flags. */
export const defineCommand = <const F extends Flags>(command: Command<F>): Command<F> => command
