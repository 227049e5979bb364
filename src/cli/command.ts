/** Declaration of a command: its help, flags and work. Parsing and help texts derive from it. */
import type { Configuration } from '../app/config/config.ts'
import type { Terminal } from './terminal.ts'

export interface Flag {
  /** `switch`: on or off; `value`: one text; `list`: short texts, repeated or separated by commas; `texts`: one text for each use. */
  kind: 'switch' | 'value' | 'list' | 'texts'
  /** The placeholder of the value in the help, such as `n`. */
  value?: string
  /** All values that it may have; by default any. */
  choices?: readonly string[]
  about: string
}
export type Flags = Record<string, Flag>

const flag =
  <const K extends Flag['kind']>(kind: K) =>
  (value: string, about: string) => ({ kind, value, about })

/** Flags of each kind. @param value the placeholder in the help */
export const [value, list, texts] = [flag('value'), flag('list'), flag('texts')]
/** Flags that take one of these values, or several. */
export const choice = <const T extends string>(choices: readonly T[], about: string) => ({
  ...value('name', about),
  choices,
})
export const choices = <const T extends string>(choices: readonly T[], about: string) => ({
  ...list('name', about),
  choices,
})
export const toggle = (about: string) => ({ kind: 'switch' as const, about })

type Choice<F extends Flag> = F extends { choices: readonly (infer T)[] } ? T : string

/** Values of declared flags: undefined or an empty list if not given. */
export type Values<F extends Flags> = {
  [K in keyof F]: F[K]['kind'] extends 'switch'
    ? boolean
    : F[K]['kind'] extends 'list' | 'texts'
      ? Choice<F[K]>[]
      : F[K]['kind'] extends 'value'
        ? Choice<F[K]> | undefined
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

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

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
  /** Its arguments and required flags, as the usage line names them: `<id>`, `[folder]`; with … it takes any number of them. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Paragraphs for the help. */
  about: string[]
  flags: F
  /** Example command lines with descriptions. */
  examples: [line: string, about: string][]
  /** Subcommands, selected by the first argument; the name of each begins with the name of this command. */
  verbs?: readonly Command[]
  /** Additional help that takes time to compute. @param words the arguments after the name */
  more?(words: readonly string[]): Promise<More>
  /** True if SIGHUP means reload, which the command handles itself, rather than exit. */
  reloads?: boolean
  /** Resolves with the exit status, if it is not 0. Absent if only the subcommands do something. */
  run?(run: Run<F>): Promise<number | undefined>
}

/** Declares a command, with the values' types inferred from the flags; by default it has neither arguments nor flags of its own. */
export const defineCommand = <const F extends Flags = Record<never, never>>(
  command: Omit<Command<F>, 'usage' | 'flags'> & { usage?: string; flags?: F },
): Command<F> => ({ usage: '', flags: {} as F, ...command })
