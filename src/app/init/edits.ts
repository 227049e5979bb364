/** Edits of other programs' files: entries added by cstp are found by a mark, replaced and removed; everything else stays unchanged. */
import { isObject } from '../../core/json.ts'

type Plain = Record<string, unknown>

/** A file that can't be edited without losing part of its content. */
export class Uneditable extends Error {
  override name = 'Uneditable'
}

/** Matches the command or the address of each of our hooks. */
const mark = /cstp-hook\.mjs|\bcstp hook \S|\/hooks\/(?:claude-code|codex|cursor|gemini|copilot|opencode)\b/

/** Whether an entry is one of our hooks. */
export const isOurs = (entry: unknown): boolean =>
  isObject(entry) && ['command', 'url', 'bash'].some((key) => typeof entry[key] === 'string' && mark.test(entry[key]))

/** Changes a JSON file and keeps its indentation. @throws Uneditable if it is not an object in plain JSON */
export function editJson(text: string | null, change: (root: Plain) => Plain): string {
  let root: unknown = {}
  if (text !== null && text.trim() !== '')
    try {
      root = JSON.parse(text.replace(/^\ufeff/, ''))
    } catch {
      throw new Uneditable('it is not plain JSON (comments?)')
    }
  if (!isObject(root)) throw new Uneditable('it is not a JSON object')
  const next = change(structuredClone(root))
  if (JSON.stringify(next) === JSON.stringify(root) && text !== null) return text
  const indent = /^[{[]\r?\n([ \t]+)/.exec(text ?? '')?.[1] ?? '  '
  return `${JSON.stringify(next, null, indent)}\n`
}

/** Entries by event, as in a client's settings: either groups with `hooks`, or the hooks themselves. */
export type Entries = Record<string, unknown>

/** Removes our hooks, and groups that become empty. */
function withoutOurs(list: unknown): unknown[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((one) => {
    if (isOurs(one)) return []
    if (!isObject(one) || !Array.isArray(one.hooks)) return [one]
    const hooks = one.hooks.filter((hook) => !isOurs(hook))
    return hooks.length === one.hooks.length ? [one] : hooks.length > 0 ? [{ ...one, hooks }] : []
  })
}

/** The settings with our hooks in `hooks`, after any others; without our hooks if `entries` is empty. */
export function withHooks(root: Plain, entries: Entries): Plain {
  const { hooks: given } = root
  if (given !== undefined && !isObject(given)) throw new Uneditable('"hooks" is not an object')
  const hooks: Plain = {}
  for (const event of new Set([...Object.keys(given ?? {}), ...Object.keys(entries)])) {
    const before = given?.[event]
    const kept = withoutOurs(before)
    const all = event in entries ? [...kept, entries[event]] : kept
    if (all.length > 0 || (Array.isArray(before) && before.length === 0)) hooks[event] = all
  }
  const { hooks: _, ...rest } = root
  return Object.keys(hooks).length > 0 || (given !== undefined && Object.keys(given).length === 0)
    ? { ...root, hooks }
    : rest
}

/** The file with the MCP server `cstp` in a table of servers; null removes the server. */
export function withServer(root: Plain, table: string, server: Plain | null): Plain {
  const { [table]: given = {}, ...rest } = root
  if (!isObject(given)) throw new Uneditable(`"${table}" is not an object`)
  const { cstp: _, ...others } = given
  const all = server === null ? others : { ...given, cstp: server }
  return Object.keys(all).length > 0 ? { ...root, [table]: all } : rest
}

const [begin, end] = ['<!-- cstp: begin -->', '<!-- cstp: end -->']
const paragraphs = new RegExp(`(?:\\n\\n)?${begin}(?:(?!${begin})[\\s\\S])*?${end}\\n?`, 'g')

/** A page of instructions with our paragraph at the end; null removes the paragraph. */
export function withParagraph(text: string | null, paragraph: string | null): string {
  const before = text ?? ''
  const ours = paragraph === null ? '' : `${begin}\n${paragraph.trim()}\n${end}\n`
  if (ours !== '' && before.includes(ours)) return before
  const rest = before.replace(paragraphs, '')
  if (ours === '') return rest
  return rest === '' ? ours : `${rest.trimEnd()}\n\n${ours}`
}

/** The file with a text in a list of its settings, or without it. */
export function withListed(root: Plain, list: string, text: string, isIn: boolean): Plain {
  const { [list]: given = [], ...rest } = root
  if (!Array.isArray(given)) throw new Uneditable(`"${list}" is not a list`)
  if (given.includes(text) === isIn) return root
  const all = isIn ? [...given, text] : given.filter((one) => one !== text)
  return all.length > 0 ? { ...root, [list]: all } : rest
}

const [blockBegin, blockEnd] = ['# cstp: begin', '# cstp: end']
const blocks = new RegExp(`(?:^|\\n)${blockBegin}\\n((?:(?!${blockBegin}\\n)[\\s\\S])*?)\\n${blockEnd}\\n?`, 'g')

/** The lines between our marks; empty if there are none. */
export const blockIn = (text: string | null): string[] =>
  [...(text ?? '').matchAll(blocks)].flatMap(([, inner = '']) => inner.split('\n'))

/** A file whose comments begin with `#`, with our lines at its end; null removes them. @param theirs what must not be there besides */
export function withBlock(text: string | null, lines: string | null, theirs?: RegExp): string {
  const rest = (text ?? '').replace(blocks, '')
  if (theirs?.test(rest)) throw new Uneditable(`it has ${theirs.exec(rest)![0].trim()} of its own`)
  if (lines === null) return rest
  const apart = rest === '' ? '' : `${rest.endsWith('\n') ? rest : `${rest}\n`}\n`
  return `${apart}${blockBegin}\n${lines}\n${blockEnd}\n`
}
