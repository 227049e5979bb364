/** What tools for files do to which paths, by the names and inputs that the tools of agents' clients have. */
import type { Access, Surroundings, Target } from './model.ts'
import { type Base, baseOf, targetOf } from './paths.ts'

/** A call of a tool for files. */
export interface Edit {
  /** What the tool does; null if it is not known, and then as if it wrote. */
  kind: 'read' | 'write' | 'edit' | 'delete' | 'move'
  targets: Target[]
  /** The text that it adds, and the text that it removes, as far as the call has them. */
  added: string
  removed: string
  /** Characters that it adds. */
  size: number
  /** Whether it names more files than are looked at. */
  unread: boolean
}

const kinds: readonly [RegExp, Edit['kind']][] = [
  [/delete|remove|unlink|trash|rmdir/i, 'delete'],
  [/move|rename/i, 'move'],
  [/patch|edit|replace|insert|append|modify|update|str_replace/i, 'edit'],
  [/write|create|save|put/i, 'write'],
  [/read|view|cat|open|get|fetch|show|notebook|download|search|grep|glob|list|ls/i, 'read'],
]

const pathKeys = [
  'file_path',
  'filePath',
  'path',
  'absolute_path',
  'notebook_path',
  'target_file',
  'file',
  'filename',
  'source',
  'destination',
  'old_path',
  'new_path',
  'paths',
  'include',
  'include_pattern',
  'glob',
  'uri',
  'dir_path',
  'directory',
  'target_directory',
  'target_directories',
  'target_notebook',
  'relative_workspace_path',
  'files',
  'file_paths',
  'filePaths',
  'source_path',
  'destination_path',
  'new_file_path',
] as const
const patchKeys = ['patch', 'input', 'patchText', 'command', 'diff', 'changes'] as const
const addedKeys = [
  'content',
  'contents',
  'new_string',
  'newString',
  'new_str',
  'file_text',
  'new_source',
  'code_edit',
  'insert_line',
  'text',
  'insert_text',
] as const
const removedKeys = ['old_string', 'oldString', 'old_str'] as const

const maxLevels = 24
const maxTargets = 2_000

/** The texts at these keys of an input and of what is inside it, such as the edits of a tool for several. */
function textsAt(input: unknown, keys: readonly string[], level = 0): string[] {
  if (input === null || typeof input !== 'object' || level > maxLevels) return []
  if (Array.isArray(input)) return input.flatMap((one) => textsAt(one, keys, level + 1))
  const found: string[] = []
  for (const [key, value] of Object.entries(input)) {
    const isMeant = keys.includes(key)
    for (const one of Array.isArray(value) ? value : [value])
      if (typeof one === 'string') {
        if (isMeant && one !== '') found.push(one)
      } else found.push(...textsAt(one, keys, level + 1))
  }
  return found
}

/** The files of a patch in the form of Codex, and a unified one. */
function patched(text: string): { paths: [string, Access][]; added: string; removed: string } {
  const paths: [string, Access][] = []
  const added: string[] = []
  const removed: string[] = []
  for (const line of text.split('\n')) {
    const file = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line)
    const moved = /^\*\*\* Move to: (.+)$/.exec(line)
    const unified = /^(?:\+\+\+|---) (?:[ab]\/)?([^\t]+)/.exec(line)
    if (file) paths.push([file[2]!.trim(), file[1] === 'Delete' ? 'delete' : 'write'])
    else if (moved) paths.push([moved[1]!.trim(), 'write'])
    else if (unified) {
      if (unified[1] !== '/dev/null') paths.push([unified[1]!.trim(), 'write'])
    } else if (line.startsWith('+')) added.push(line.slice(1))
    else if (line.startsWith('-')) removed.push(line.slice(1))
  }
  return { paths, added: added.join('\n'), removed: removed.join('\n') }
}

const isPatch = (text: string): boolean =>
  /^\*\*\* Begin Patch|^\*\*\* (?:Add|Update|Delete) File: |^--- \S.*\n\+\+\+ /m.test(text)

/** What a call of a tool does to files; null if it names none. @param file the path that is already known of the call */
export function editOf(tool: string, input: unknown, file: string | null, surroundings: Surroundings): Edit | null {
  const base = baseOf(surroundings)
  const patches = (typeof input === 'string' ? [input] : textsAt(input, patchKeys)).filter(isPatch)
  const kind = kinds.find(([shape]) => shape.test(tool))?.[1] ?? (file === null ? null : 'edit')
  if (patches.length > 0) {
    const { paths, added, removed } = patched(patches.join('\n'))
    const named = [...(file === null ? [] : [file]), ...textsAt(input, pathKeys)]
    const all: [string, Access][] = [...paths, ...named.map((path): [string, Access] => [path, 'write'])]
    const unread = all.length > maxTargets
    return { kind: 'edit', targets: targetsOf(all, base), added, removed, size: added.length, unread }
  }
  const paths = new Set([...(file === null ? [] : [file]), ...textsAt(input, pathKeys)])
  if (kind === null || paths.size === 0) return null
  const access: Access =
    kind === 'read' ? 'read' : kind === 'delete' ? 'delete' : kind === 'write' ? 'overwrite' : 'write'
  const targets = targetsOf(
    [...paths].map((path) => [path, access]),
    base,
    kind === 'delete',
  )
  const added = kind === 'read' ? '' : textsAt(input, addedKeys).join('\n')
  const removed = textsAt(input, removedKeys).join('\n')
  return { kind, targets, added, removed, size: added.length, unread: paths.size > maxTargets }
}

const targetsOf = (paths: readonly [string, Access][], base: Base, recursive = false): Target[] =>
  paths.slice(0, maxTargets).flatMap(([path, access]) => targetOf(path, access, base, recursive) ?? [])
