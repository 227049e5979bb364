/** The state in which a command runs: variables, functions, folder, and what is collected of the whole line. */
import type { SyntaxNode } from 'unbash'
import type { Invocation, Place, Target } from './model.ts'
import type { Stream } from './output.ts'
import { type Base, unknown } from './paths.ts'

export interface Scope {
  /** Null for a value that is only known at run time. */
  vars: Map<string, string | null>
  /** Elements of arrays, besides their text in `vars`. */
  lists: Map<string, readonly string[]>
  functions: Map<string, SyntaxNode>
  aliases: Map<string, string>
  base: Base
  in: Place
  via: readonly string[]
  /** `$1`, `$2` … of a function or of `sh -c`. */
  args: readonly string[]
  /** `$0`, where it is given. */
  name?: string | undefined
  /** Bodies of functions, and aliases, that are running: one that runs itself is not read again. */
  running: readonly (SyntaxNode | string)[]
  depth: number
}

export interface Collected {
  invocations: Invocation[]
  opaque: Set<string>
  fork_bomb: boolean
  unread: boolean
  /** What commands of this line put into files, by path; into all files of a folder, by its path with a slash at the end. */
  files: Map<string, Stream>
  /** What variables were set to that is a secret, downloaded or made so that it can't be read, by name. */
  names: Map<string, Stream>
  /** Commands that may still be read. */
  left: number
}

/** What a command gets from around it. */
export interface Given {
  stdin: Stream | null
  /** Outputs that are part of its words. */
  substituted: readonly Stream[]
  assignments: ReadonlyMap<string, string>
  /** What its redirects open. */
  redirected: readonly Target[]
}

export interface Reader {
  all: Collected
  /** Reads a text as a line of a shell. */
  line(text: string, scope: Scope, stdin?: Stream | null): Stream
  /** Reads a part of a syntax tree. */
  node(node: SyntaxNode, scope: Scope, stdin: Stream | null): Stream
  /** Reads a command by its words. */
  command(words: readonly string[], scope: Scope, given: Given): Stream
}

/** What this line put into a file; undefined if it did not. */
export function contentOf({ files }: Collected, path: string | null): Stream | undefined {
  if (path === null || files.size === 0) return undefined
  let found = files.get(path)
  for (let at = path.length; found === undefined && at > 0; at = path.lastIndexOf('/', at - 1))
    found = files.get(`${path.slice(0, at)}/`)
  return found
}

export const nothing: Given = { stdin: null, substituted: [], assignments: new Map(), redirected: [] }

/** A scope whose changes don't reach the one around it. */
export const inner = (scope: Scope, changes: Partial<Scope> = {}): Scope => ({
  ...scope,
  vars: new Map(scope.vars),
  lists: new Map(scope.lists),
  functions: new Map(scope.functions),
  aliases: new Map(scope.aliases),
  depth: scope.depth + 1,
  ...changes,
})

const shellVariables: Record<string, string> = {
  IFS: ' \t\n',
  SHELL: '/bin/bash',
  PATH: '/usr/local/bin:/usr/bin:/bin',
  TMPDIR: '/tmp',
  TMP: '/tmp',
  TEMP: '/tmp',
  BASH: '/bin/bash',
  OSTYPE: 'linux-gnu',
  RUNNER_TEMP: '/tmp',
  XDG_RUNTIME_DIR: '/tmp/runtime',
  XDG_CACHE_HOME: '~/.cache',
  XDG_CONFIG_HOME: '~/.config',
  USERPROFILE: '~',
  HOME: '~',
}

/** The elements of `"$@"` or of `"${name[@]}"`; null if they are only known at run time. */
export function elementsIn(scope: Scope, name: string): readonly string[] | null {
  if (name === '@') return scope.args.length > 0 ? scope.args : null
  return scope.lists.get(name) ?? null
}

/** The value of a variable; null if it is only known at run time. */
export function variableOf(scope: Scope, name: string): string | null {
  const set = scope.vars.get(name)
  // Another name for a variable.
  if (set?.startsWith(`${unknown}=`))
    return variableOf({ ...scope, vars: new Map([...scope.vars].filter(([one]) => one !== name)) }, set.slice(2))
  if (set !== undefined) return set
  if (/^\d$/.test(name))
    return name === '0' ? (scope.name ?? 'bash') : (scope.args[Number(name) - 1] ?? (scope.args.length > 0 ? '' : null))
  if (name === '@' || name === '*') return scope.args.length > 0 ? scope.args.join(' ') : null
  if (name === 'PWD') return scope.base.cwd
  if (/^(?:GITHUB_WORKSPACE|CLAUDE_PROJECT_DIR|CI_PROJECT_DIR|INIT_CWD|WORKSPACE|PROJECT_ROOT|REPO_ROOT)$/.test(name))
    return scope.base.project
  return shellVariables[name] ?? null
}
