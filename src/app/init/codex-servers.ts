/**
 * The MCP servers in Codex's settings, started through the gateway. The file is TOML with its owner's comments and layout, so only the values
 * of `command` and `args` are replaced, and what is read afterwards is compared with what should be there.
 */
import { type Entries, Uneditable } from './edits.ts'
import { throughGateway, withoutGateway } from './gateway.ts'
import type { Wiring } from './wiring.ts'

const table = 'mcp_servers'

const parse = (text: string): Entries => {
  try {
    return Bun.TOML.parse(text) as Entries
  } catch {
    throw new Uneditable('it is not TOML')
  }
}

const triple = /"""|'''/y
const blank = /(?:[^\S\n]|#[^\n]*|\n)*/y

/** Where a value ends that begins at `at`. */
function endOf(text: string, at: number): number {
  triple.lastIndex = at
  const [quotes] = triple.exec(text) ?? []
  if (quotes !== undefined) return text.indexOf(quotes, at + 3) + 3
  const first = text[at]!
  if (first === '"' || first === "'") {
    let end = at + 1
    while (end < text.length && text[end] !== first) end += first === '"' && text[end] === '\\' ? 2 : 1
    return end + 1
  }
  if (first === '[' || first === '{') {
    const close = first === '[' ? ']' : '}'
    let end = at + 1
    for (;;) {
      blank.lastIndex = end
      blank.exec(text)
      end = blank.lastIndex
      if (end >= text.length || text[end] === close) return end + 1
      end = /["'[{]/.test(text[end]!) ? endOf(text, end) : end + 1
    }
  }
  const [word = ''] = /^[^\s#,\]}]*/.exec(text.slice(at)) ?? []
  return at + word.length
}

interface Place {
  start: number
  end: number
}

/** Keys of a table, with the places of their values. @param at after its header */
function valuesOf(text: string, at: number): Map<string, Place> {
  const found = new Map<string, Place>()
  let here = at
  for (;;) {
    blank.lastIndex = here
    blank.exec(text)
    const line = /^([\w-]+)[ \t]*=[ \t]*/.exec(text.slice(blank.lastIndex, blank.lastIndex + 256))
    if (line === null) return found
    const start = blank.lastIndex + line[0].length
    here = endOf(text, start)
    found.set(line[1]!, { start, end: here })
  }
}

/** Where the values of a server's own table begin; null if it has none. */
function tableOf(text: string, name: string): number | null {
  for (const { 0: header, 1: given, index } of text.matchAll(/^[ \t]*\[mcp_servers\.([^\]\n]+)\][^\n]*\n/gm))
    if (given!.trim() === name || [`"${name}"`, `'${name}'`].includes(given!.trim())) return index + header.length
  return null
}

const written = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map((one) => JSON.stringify(one)).join(', ')}]` : JSON.stringify(value)

/** The text with these servers in place of its own. @throws Uneditable naming a server that is written in another form than a table */
function replaced(text: string, wanted: Entries): string {
  const root = parse(text)
  const [before, after] = [root[table], wanted[table]].map((one) => (one ?? {}) as Record<string, Entries>)
  let next = text
  for (const [name, server] of Object.entries(after!)) {
    if (Bun.deepEquals(server, before![name])) continue
    const at = tableOf(next, name)
    const { command, args } = at === null ? {} : Object.fromEntries(valuesOf(next, at))
    if (at === null || command === undefined)
      throw new Uneditable(
        `its server ${name} has no table [${table}.${name}] with a command: put the gateway in yourself`,
      )
    const set = ({ start, end }: Place, value: string) => {
      next = next.slice(0, start) + value + next.slice(end)
    }
    const list = written(server.args ?? [])
    if (args === undefined) set({ start: command.end, end: command.end }, `\nargs = ${list}`)
    else if (args.start > command.start) set(args, list)
    set(command, written(server.command))
    if (args !== undefined && args.start < command.start) set(args, list)
  }
  if (!Bun.deepEquals(parse(next), wanted))
    throw new Uneditable('its servers are written in a form that init does not edit: put the gateway in yourself')
  return next
}

/** The settings with each server that Codex starts behind the gateway. */
export const codexThroughGateway = (text: string, wiring: Wiring): string =>
  replaced(text, throughGateway(parse(text), table, wiring))

/** The settings with each server started by its own command. */
export const codexWithoutGateway = (text: string): string =>
  text.includes('gateway') ? replaced(text, withoutGateway(parse(text), table)) : text
