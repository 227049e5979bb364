/** cstp init: connects the clients of agents in a folder, and undoes that. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { apply, type Change, undo } from '../app/init/apply.ts'
import { editsOf, type InitClient, initClients } from '../app/init/clients.ts'
import { Uneditable } from '../app/init/edits.ts'
import { timestamp } from '../core/time.ts'
import { defineCommand } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { serverUrl } from './remote.ts'
import { plain, print } from './terminal.ts'

/** Signs that a client is in use: its program is installed, or the project has its folder. */
const signs: Record<InitClient, { program: string; folder: string }> = {
  'claude-code': { program: 'claude', folder: '.claude' },
  codex: { program: 'codex', folder: '.codex' },
  cursor: { program: 'cursor', folder: '.cursor' },
  gemini: { program: 'gemini', folder: '.gemini' },
  copilot: { program: 'copilot', folder: '.github/hooks' },
  opencode: { program: 'opencode', folder: '.opencode' },
}

function clientsIn(dir: string, path: string): InitClient[] {
  const found = initClients.filter((client) => {
    const { program, folder } = signs[client]
    return existsSync(join(dir, folder)) || Bun.which(program, { PATH: path }) !== null
  })
  if (found.length === 0)
    throw new Failure(`no client is installed or used here: name one with --client, of ${initClients.join(', ')}`)
  return found
}

function clientsOf(given: readonly string[]): InitClient[] {
  const unknown = given.find((one) => !initClients.includes(one as InitClient))
  if (unknown !== undefined) throw misuse(`--client ${JSON.stringify(unknown)} is not one of ${initClients.join(', ')}`)
  return given as InitClient[]
}

/** What the user still has to do in a client. */
const trust: Partial<Record<InitClient, string>> = {
  codex:
    'Codex runs no hook that is not trusted, and does not say so: open it here and run /hooks. Its MCP servers are yours: codex mcp add cstp -- cstp mcp',
  copilot: 'Copilot CLI runs no hook in a folder that it does not trust: open it here and confirm the folder.',
  'claude-code': 'Claude Code asks for the MCP server at its next start: approve it.',
}

export const init = defineCommand({
  name: 'init',
  summary: 'Connect the clients of agents in this folder: hooks, MCP server, a paragraph of instructions.',
  about: [
    'Merges into the settings of each client and leaves everything else in them as it is: .claude/settings.local.json, .codex/hooks.json, .cursor/hooks.json, .gemini/settings.json, .github/hooks/cstp.json, .opencode/plugin/cstp.js and opencode.json; .mcp.json and .cursor/mcp.json; a marked paragraph of CLAUDE.md or AGENTS.md. A second run changes nothing.',
    'Hooks run in shadow mode first: they stop nothing, and cstp hook report shows what they would have stopped. --enforce enforces the rules.',
    '--shared writes files that can be committed to a repository: the hook script is in .cstp/, and the token is read from CSTP_AGENT and CSTP_TOKEN in the environment.',
    '--undo restores every file byte for byte. If a file was changed since, it removes only what cstp init added.',
  ],
  flags: {
    client: {
      kind: 'list',
      value: 'name',
      about: `Of ${initClients.join(', ')}; by default those that are installed or used here.`,
    },
    enforce: { kind: 'switch', about: 'Hooks stop what the rules block. By default they only record it.' },
    shared: { kind: 'switch', about: 'Write files that a repository can share.' },
    undo: { kind: 'switch', about: 'Undo what was written in this folder.' },
    dir: { kind: 'value', value: 'folder', about: 'Folder of the project; by default this one.' },
    url: {
      kind: 'value',
      value: 'url',
      about: 'Server to call; by default the one at --host and --port of the settings.',
    },
  },
  examples: [
    ['cstp init', 'connect the clients that are used here, in shadow'],
    ['cstp init --client codex --enforce', 'let the rules stop calls of Codex'],
    ['cstp init --undo', 'every file as it was'],
  ],
  async run(run) {
    const { flags, env } = run
    const { settings } = await run.configuration()
    const data_dir = resolve(settings.data_dir)
    const dir = resolve(flags.dir ?? '.')
    const wiring = {
      shared: flags.shared,
      shadow: !flags.enforce,
      url: serverUrl(flags.url, settings),
      data_dir,
      env_token: Boolean(env.CSTP_AGENT && env.CSTP_TOKEN),
      windows: process.platform === 'win32',
    }
    const shown = ({ path, what }: Change) => {
      const near = relative(dir, path)
      return `${what.padEnd(9)}  ${plain(near.startsWith('..') ? path : near)}`
    }
    if (flags.undo) {
      const both = [true, false].flatMap((shared) => editsOf(initClients, { ...wiring, shared }, dir))
      const changes = await undo(data_dir, dir, both)
      await print(run, { changes }, () =>
        changes.length === 0 ? 'Nothing was written here.\n' : `${changes.map(shown).join('\n')}\n`,
      )
      return 0
    }
    const clients = flags.client.length > 0 ? clientsOf(flags.client) : clientsIn(dir, env.PATH ?? '')
    const made = { dir, clients, shadow: wiring.shadow, at: timestamp(Date.now()) }
    try {
      const changes = await apply(data_dir, made, editsOf(clients, wiring, dir))
      await print(
        run,
        { clients, shadow: wiring.shadow, changes },
        () =>
          `${[
            ...changes.map(shown),
            '',
            wiring.shadow
              ? 'Hooks record and stop nothing (shadow). See cstp hook report, then cstp init --enforce.'
              : 'Hooks stop what the rules block.',
            ...clients.flatMap((client) => trust[client] ?? []),
            'cstp doctor shows when each hook was last called.',
          ].join('\n')}\n`,
      )
      return 0
    } catch (error) {
      if (error instanceof Uneditable) throw new Failure(`${error.message}; nothing was written`)
      throw error
    }
  },
})
