/** What tools for files do to which paths, by the names and inputs that the tools of agents' clients have. */
import type { Access, Surroundings, Target } from './model.ts'
import { baseOf, targetOf } from './paths.ts'

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
  'uri',
] as const
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

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const textsAt = (input: Fields, keys: readonly string[]): string[] =>
  keys.flatMap((key) => {
    const value = Object.hasOwn(input, key) ? input[key] : undefined
    return [value].flat().filter((one): one is string => typeof one === 'string' && one !== '')
  })

/** The files of a patch in the form of Codex, and a unified one. */
function patched(text: string): { paths: [string, Access][]; added: string; removed: string } {
  const paths: [string, Access][] = []
  const added: string[] = []
  const removed: string[] = []
  for (const line of text.split('\n').slice(0, 20_000)) {
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
  /^\*\*\* Begin Patch|^\*\*\* (?:Add|Update|Delete) File: |^--- \S.*\n\+\+\+ /m.test(text.slice(0, 4_000))

/** What a call of a tool does to files; null if it names none. @param file the path that is already known of the call */
export function editOf(tool: string, input: unknown, file: string | null, surroundings: Surroundings): Edit | null {
  const base = baseOf(surroundings)
  const fields = isFields(input) ? input : {}
  const texts =
    typeof input === 'string' ? [input] : textsAt(fields, ['patch', 'input', 'patchText', 'command', 'diff', 'changes'])
  const patch = texts.find(isPatch)
  const kind = kinds.find(([shape]) => shape.test(tool))?.[1] ?? (file === null ? null : 'edit')
  if (patch !== undefined) {
    const { paths, added, removed } = patched(patch)
    return {
      kind: 'edit',
      targets: paths.flatMap(([path, access]) => targetOf(path, access, base) ?? []),
      added,
      removed,
      size: added.length,
    }
  }
  const paths = new Set([...(file === null ? [] : [file]), ...textsAt(fields, pathKeys)])
  if (kind === null || paths.size === 0) return null
  const access: Access =
    kind === 'read' ? 'read' : kind === 'delete' ? 'delete' : kind === 'write' ? 'overwrite' : 'write'
  const targets = [...paths].slice(0, 64).flatMap((path) => targetOf(path, access, base, kind === 'delete') ?? [])
  const edits = [fields, ...(Array.isArray(fields.edits) ? fields.edits.filter(isFields).slice(0, 200) : [])]
  const added = kind === 'read' ? '' : edits.flatMap((one) => textsAt(one, addedKeys)).join('\n')
  const removed = edits.flatMap((one) => textsAt(one, removedKeys)).join('\n')
  return { kind, targets, added, removed, size: added.length }
}
