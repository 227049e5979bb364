/** The input of a tool call: which of its fields are commands and paths in the tools of any client, where they contradict each other, and a copy of bounded size. */
import { sha256Hex } from '../../core/digest.ts'
import type { ToolCall } from './event.ts'
import { fieldsOf } from './event.ts'

/** Most characters of an input, as JSON, that rules see as a whole. */
export const maxInput = 262_144
const maxLevels = 24
const longestToken = 400

const shells =
  /^(?:bash|shell|shell_command|exec_command|local_shell|run_shell_command|run_terminal_cmd|powershell|terminal)$/i
/** Tools that type into a shell that already runs. */
const typing = /^write_(?:bash|powershell|shell|stdin|terminal)$/i
const typed = ['input', 'chars', 'text', 'command']
const commandKeys = ['command', 'cmd', 'script', 'commands', 'command_line', 'commandLine', 'shell_command'] as const
const pathKeys = ['file_path', 'filePath', 'absolute_path', 'notebook_path', 'target_file', 'path'] as const
const folderKeys = ['workdir', 'working_directory', 'directory', 'dir_path', 'cwd'] as const
/** Tools whose `command` is the name of an operation, or a patch. */
const editors = /edit(?:or)?$|patch$/i

const quotedWord = (one: string): string => (/^[\w@%+=:,./-]+$/.test(one) ? one : `'${one.replaceAll("'", "'\\''")}'`)

/** Words as a line that a shell would split into them again; the text that a shell is given is the line itself. */
function lineOf(words: readonly string[]): string {
  const [program, option, text] = words
  if (words.length === 3 && /^(?:.*\/)?(?:ba|z|da)?sh$/.test(program!) && /^-l?c$/.test(option!)) return text!
  return words.map(quotedWord).join(' ')
}

const textsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string' && one !== '')

/** The line at a key: a list is one command with its arguments, or several commands. */
function commandAt(fields: Readonly<Record<string, unknown>>, key: string): string | null {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  const texts = textsIn(value)
  if (texts.length === 0) return null
  if (key === 'commands') return texts.join('\n')
  // Servers that start programs take the arguments beside the program.
  const args = textsIn(Array.isArray(fields.args) ? fields.args : fields.arguments)
  const line = Array.isArray(value) ? lineOf(texts) : texts[0]!
  return (args.length > 0 ? `${line} ${args.map(quotedWord).join(' ')}` : line).toWellFormed()
}

/** All commands in a value, also of calls inside it. */
function commandsIn(value: unknown, level = 0): string[] {
  if (value === null || typeof value !== 'object' || level > maxLevels) return []
  if (Array.isArray(value)) return value.flatMap((one) => commandsIn(one, level + 1))
  const fields = fieldsOf(value)
  const own = commandKeys.flatMap((key) => commandAt(fields, key) ?? [])
  return [...own, ...Object.values(fields).flatMap((one) => commandsIn(one, level + 1))]
}

/** The commands of a call, one on each line; null if it has none. */
export function commandOf({ tool, input, mcp_server }: ToolCall): string | null {
  const fields = fieldsOf(input)
  if (typing.test(tool)) return typed.map((key) => commandAt(fields, key)).find((one) => one !== null) ?? null
  const name = tool.slice(tool.lastIndexOf('__') + 1)
  if (editors.test(name) && mcp_server === null) return null
  const lines = [...new Set(commandsIn(input))]
  if (lines.length === 0) return null
  const { shell } = fields
  // A program that is named as the shell runs the line.
  const isOther = typeof shell === 'string' && !/^(?:.*\/)?(?:ba|z|da|k)?sh$|^(?:true|false)?$/.test(shell)
  return isOther ? lines.map((line) => `${quotedWord(shell)} -c ${quotedWord(line)}`).join('\n') : lines.join('\n')
}

const textAt = (fields: Readonly<Record<string, unknown>>, key: string): string | null => {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  return typeof value === 'string' && value !== '' ? value.toWellFormed() : null
}

/** The file that a call reads or writes; null if it names none. */
export const fileOf = ({ input }: ToolCall): string | null => {
  const fields = fieldsOf(input)
  return pathKeys.map((key) => textAt(fields, key)).find((one) => one !== null) ?? null
}

/** The folder in which a command runs, if the call names one. */
export function folderOf(call: ToolCall): string | null {
  if (!shells.test(call.tool)) return null
  const fields = fieldsOf(call.input)
  return folderKeys.map((key) => textAt(fields, key)).find((one) => one !== null) ?? null
}

const plainKey = (key: string): string => key.toLowerCase().replace(/[_-]/g, '')
const meaningful = new Set([...commandKeys, ...pathKeys, ...folderKeys].map(plainKey))

/** Fields of a client's own tools of which only one can be meant. */
const alternatives = [['command', 'cmd', 'script', 'command_line', 'commandLine', 'shell_command'], pathKeys] as const

/** Two fields of a call that name different commands or paths for the same purpose: rules and tool may each read another. Null if there are none. */
export function contradictionIn({ input, mcp_server }: ToolCall): string | null {
  const differing = (fields: Readonly<Record<string, unknown>>, keys: readonly string[]): string | null => {
    const given = keys.filter((key) => Object.hasOwn(fields, key) && fields[key] !== null && fields[key] !== '')
    const other = given.find((key) => JSON.stringify(fields[key]) !== JSON.stringify(fields[given[0]!]))
    return other === undefined ? null : `${given[0]} and ${other} of its input differ`
  }
  const visit = (value: unknown, level: number): string | null => {
    if (value === null || typeof value !== 'object' || level > maxLevels) return null
    if (!Array.isArray(value)) {
      const fields = fieldsOf(value)
      const spellings = new Map<string, string[]>()
      for (const key of Object.keys(fields)) {
        const plain = plainKey(key)
        if (meaningful.has(plain)) spellings.set(plain, [...(spellings.get(plain) ?? []), key])
      }
      for (const keys of spellings.values()) {
        const found = keys.length > 1 ? differing(fields, keys) : null
        if (found !== null) return found
      }
      if (mcp_server === null && level === 0)
        for (const keys of alternatives) {
          const found = differing(fields, keys)
          if (found !== null) return found
        }
    }
    for (const one of Object.values(value)) {
      const found = visit(one, level + 1)
      if (found !== null) return found
    }
    return null
  }
  return visit(input, 0)
}

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 4

const grouped = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ')

/** The sentence in place of a text that is not shown. */
const hidden = (text: string): string => `… ${grouped(text.length)} characters not shown, sha256 ${sha256Hex(text)}`

/** Cuts a text, but not in the middle of a token: half a secret would not be recognised. */
function cutText(text: string, most: number): { shown: string; note: string } {
  const sure = Math.max(0, most - longestToken)
  const head = text.slice(0, sure) + text.slice(sure, most).replace(/\S+$/, '')
  const note = hidden(text.slice(head.length))
  return { shown: head + note, note }
}

const smallest = 256

const isWithin = (value: unknown, levels: number): boolean =>
  value === null ||
  typeof value !== 'object' ||
  (levels > 0 && Object.values(value).every((one) => isWithin(one, levels - 1)))

/** A copy of a value within a size: the largest parts of it are cut first. @param notes gets what is not shown, with its place */
function fitted(value: unknown, most: number, place: string, level: number, notes: string[]): unknown {
  if (isWithin(value, maxLevels - level) && sizeOf(value) <= most) return value
  const note = (text: string): string => {
    notes.push(`${place}: ${text.slice(2)}`)
    return text
  }
  if (typeof value === 'string') {
    const { shown, note: said } = cutText(value, most)
    note(said)
    return shown
  }
  if (value === null || typeof value !== 'object') return value
  const json = JSON.stringify(value)
  const entries = Object.entries(value)
  if (level > maxLevels || most < smallest) return note(hidden(json))
  const kept = entries.slice(0, Math.max(1, Math.floor(most / smallest)))
  let left = most - 2 * smallest
  const shares = new Map<string, number>()
  const bySize = kept.map(([key, one]) => ({ key, size: sizeOf(one) + key.length + 4 })).sort((a, b) => a.size - b.size)
  for (const [at, { key, size }] of bySize.entries()) {
    const share = Math.min(size, Math.floor(left / (bySize.length - at)))
    shares.set(key, share)
    left -= share
  }
  const shown = kept.map(
    ([key, one]) =>
      [
        key.slice(0, 256),
        fitted(one, shares.get(key)! - key.length - 4, `${place}.${key.slice(0, 64)}`, level + 1, notes),
      ] as const,
  )
  const rest = entries.slice(kept.length)
  const more = rest.length === 0 ? [] : [note(hidden(JSON.stringify(rest)))]
  return Array.isArray(value)
    ? [...shown.map(([, one]) => one), ...more]
    : Object.fromEntries([...shown, ...more.map((one) => ['…', one] as const)])
}

/** Text that every store can carry. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one)]))
}

const isWellFormed = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : value === null ||
      typeof value !== 'object' ||
      Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one))

/** An input as rules see it: whole, or cut with a sentence for each part that is not shown. */
export function shownInput(input: unknown): { input: unknown; not_shown: string[] } {
  const not_shown: string[] = []
  const shown = fitted(input, maxInput, 'input', 0, not_shown)
  if (isWellFormed(shown)) return { input: shown, not_shown }
  // Other halves of characters would look the same.
  return { input: wellFormed(shown), not_shown: [...not_shown, `input: ${hidden(JSON.stringify(shown)).slice(2)}`] }
}
