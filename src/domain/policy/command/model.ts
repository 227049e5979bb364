/** What is understood of a command line: the programs that it runs, each with its arguments and what it reads, writes, deletes and sends. */
import type { Access, CodeSource, PathClass } from '../../../../sdk/schema/condition.ts'

export type { Access, CodeSource, PathClass }

export interface Target {
  /** Absolute where that is known; `~` is the home folder. */
  path: string
  class: PathClass
  access: Access
  /** Neither inside the project nor temporary. */
  outside: boolean
  /** All of the project, of a home folder, of a file system or of one of its main folders. */
  whole: boolean
  /** With everything below it. */
  recursive: boolean
}

export type Place = 'line' | 'pipeline' | 'subshell' | 'substitution' | 'background'

export interface Invocation {
  /** Its name, without folders and in lower case for Windows; empty if it is only known at run time. */
  program: string
  /** The leading words of its arguments that are not options, joined with spaces. */
  subcommand: string
  /** Arguments that are not options, nor values of options. */
  args: string[]
  /** Options, each in all of its spellings: `-f` and `--force`; short ones that are joined are separate. */
  flags: string[]
  /** Values of options by their first spelling. */
  values: Record<string, string>
  targets: Target[]
  /** Programs whose output it reads. */
  stdin_from: string[]
  /** Variables that are set for it. */
  assignments: Record<string, string>
  in: Place
  /** The programs that run it, from the outside: `sudo`, `bash -c`, `ssh`. */
  via: string[]
  /** Where its code is from, for shells and interpreters; null for any other program. */
  code_from: CodeSource | null
  /** Code or statements on the line, for programs that run them (SQL, Python); empty if there are none. */
  code: string
  /** Hosts that it connects to; `?` for one that is not known. */
  hosts: string[]
  /** Something about it is only known at run time: its name, or the code that it runs. */
  opaque: boolean
}

/** What is understood of a line. */
export interface Understanding {
  invocations: Invocation[]
  /** Why the line, or a part of it, could not be read; empty if all of it was. */
  opaque: string[]
  /** Whether a part was left out because there is too much of it. */
  unread: boolean
  /** Whether it starts processes that start themselves without end. */
  fork_bomb: boolean
}

/** Where a command runs. */
export interface Surroundings {
  /** The folder it runs in; null if it is not known. */
  cwd: string | null
  /** The root of the project; null for the folder it runs in. */
  project_dir: string | null
}
