/** The MCP servers of a client's settings, started through the gateway: `cstp gateway -- <command>` in place of their commands. */
import { isObject } from '../../core/json.ts'
import type { Entries } from './edits.ts'
import type { Wiring } from './wiring.ts'

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** The words that start a server: clients have a program with arguments, or one list. */
function wordsOf({ command, args }: Entries): string[] | null {
  if (isWords(command)) return command.length > 0 ? command : null
  if (typeof command !== 'string') return null
  return args === undefined ? [command] : isWords(args) ? [command, ...args] : null
}

const withWords = (server: Entries, words: readonly string[]): Entries => {
  const [command, ...args] = words
  return Array.isArray(server.command) ? { ...server, command: [...words] } : { ...server, command, args }
}

/** The server's own words behind those of a gateway; null if it is not started through one. */
function behind(words: readonly string[]): string[] | null {
  const at = words.indexOf('gateway')
  const end = words.indexOf('--', at)
  const isOurs =
    at > 0 && end > at && words.slice(0, at).some((word) => /cstp/i.test(word) || /main\.(?:ts|js)$/.test(word))
  return isOurs ? words.slice(end + 1) : null
}

const each = (root: Entries, table: string, change: (name: string, server: Entries) => Entries): Entries => {
  const { [table]: given } = root
  if (!isObject(given)) return root
  const servers = Object.entries(given).map(([name, server]) => [
    name,
    name !== 'cstp' && isObject(server) ? change(name, server) : server,
  ])
  return { ...root, [table]: Object.fromEntries(servers) }
}

/** The settings with each server that the client starts behind the gateway. Servers at an address are left as they are. */
export const throughGateway = (root: Entries, table: string, { program, data_dir }: Wiring): Entries =>
  each(root, table, (name, server) => {
    const words = wordsOf(server)
    if (words === null) return server
    const own = behind(words) ?? words
    const named = name.replace(/[^\w-]/g, '-').slice(0, 64)
    return withWords(server, [...program, 'gateway', '--name', named, '--data-dir', data_dir, '--', ...own])
  })

/** The settings with each server started by its own command. */
export const withoutGateway = (root: Entries, table: string): Entries =>
  each(root, table, (_, server) => {
    const own = behind(wordsOf(server) ?? [])
    return own === null ? server : withWords(server, own)
  })
