/** Keeps files of one machine out of the repository: `.git/info/exclude` names them, and files that git tracks are reported. */
import { existsSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import type { Edit } from './clients.ts'
import { blockIn, withBlock } from './edits.ts'

export interface Repository {
  /** Its top folder. */
  root: string
  /** The file `info/exclude`. */
  exclude: string
}

/** A hostile repository may have a pipe in place of one of git's files, which git reads for ever. */
const timeout = 5_000

function git(dir: string, ...args: string[]): string | null {
  try {
    const options = { stderr: 'ignore', stdin: 'ignore', timeout } as const
    const { exitCode, stdout } = Bun.spawnSync(['git', '-C', dir, ...args], options)
    return exitCode === 0 ? stdout.toString().replace(/\n$/, '') : null
  } catch {
    return null
  }
}

/** The repository around a folder; null if there is none, or no git. */
export function repositoryOf(dir: string): Repository | null {
  if (!existsSync(dir)) return null
  const root = git(dir, 'rev-parse', '--show-toplevel')
  const exclude = git(dir, 'rev-parse', '--git-path', 'info/exclude')
  return root && exclude ? { root: resolve(dir, root), exclude: resolve(dir, exclude) } : null
}

/** Those of these files that git tracks. */
export function trackedOf(dir: string, paths: readonly string[]): Set<string> {
  const near = paths.map((path) => relative(dir, path)).filter((path) => !path.startsWith('..'))
  const listed = git(dir, 'ls-files', '-z', '--', ...near)
  return new Set((listed ?? '').split('\0').flatMap((path) => (path === '' ? [] : [join(dir, path)])))
}

/** The line of `info/exclude` for a path below the top folder. */
const lineOf = (root: string, path: string): string => `/${relative(root, path).split(sep).join('/')}`

/** Adds files of the repository to `info/exclude`. */
export function excludeEdit({ root, exclude }: Repository, paths: readonly string[]): Edit {
  const lines = paths.map((path) => lineOf(root, path)).filter((line) => !line.startsWith('/..'))
  return {
    path: exclude,
    apply: (before) => withBlock(before, [...new Set([...blockIn(before), ...lines])].join('\n')),
    undo: (now) => withBlock(now, null),
  }
}
