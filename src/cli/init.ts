/** cstp init: connects the clients of agents in a folder, proves that they are connected, and undoes that. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { Configuration } from '../app/config/config.ts'
import { apply, type Change, undo } from '../app/init/apply.ts'
import { begin } from '../app/init/begin.ts'
import { editsOf, letsType } from '../app/init/clients.ts'
import { connectionOf, modeOf } from '../app/init/connection.ts'
import { Uneditable } from '../app/init/edits.ts'
import { fixOf } from '../app/init/fix.ts'
import { excludeEdit, repositoryOf, trackedOf } from '../app/init/git.ts'
import { type Proof, proofLine, prove } from '../app/init/proof.ts'
import { type InitClient, initClients, type Wiring } from '../app/init/wiring.ts'
import { commandLine, isCompiled, noteCommand, ownCommand } from '../app/service-file.ts'
import { regularText } from '../core/disk.ts'
import { timestamp } from '../core/time.ts'
import { choices, defineCommand, toggle, value } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { askToImport, offerLine, offersOf } from './init-offer.ts'
import { addressOf, isHere } from './remote.ts'
import { plain, print, type Terminal } from './terminal.ts'

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

/** The first version of Claude Code that is known to stop a call whose http hook fails. 2.1.197 runs it. */
const failsClosedSince = [2, 1, 330]

function isKnownVersion(path: string): boolean {
  const program = Bun.which('claude', { PATH: path })
  if (program === null) return false
  const { stdout } = Bun.spawnSync([program, '--version'], { stdin: 'ignore', stderr: 'ignore', timeout: 10_000 })
  const version = /\b(\d+)\.(\d+)\.(\d+)/.exec(stdout.toString())?.slice(1).map(Number)
  if (version === undefined) return false
  const first = version.findIndex((part, at) => part !== failsClosedSince[at])
  return first < 0 || version[first]! > failsClosedSince[first]!
}

/** What the user still has to do in a client. */
const trust: Partial<Record<InitClient, string>> = {
  codex: 'Codex runs no hook that is not trusted, and does not say so: open it here, trust the folder and run /hooks.',
  copilot: 'Copilot CLI runs no hook in a folder that it does not trust: open it here and confirm the folder.',
}

/** What Codex lets its model type, which passes no hook. */
const typing = (dir: string): string =>
  letsType(regularText(join(dir, '.codex', 'config.toml')) ?? '')
    ? 'Codex asks no hook about what is typed into a command that runs (write_stdin): unified_exec_tty = false below [features] of .codex/config.toml lets none be typed.'
    : 'Codex asks no hook about what is typed into a command that runs: it may start none with a terminal (unified_exec_tty in .codex/config.toml).'

const modes: Record<Wiring['mode'], string> = {
  guard:
    'Mode guard: what can’t be undone is stopped (the pack irreversible); all other rules only note what they would have stopped.',
  enforce: 'Mode enforce: hooks stop what the rules block.',
  shadow: 'Mode shadow: hooks stop nothing, and note what the rules would have stopped.',
}

/** What a folder that shares its settings says of them, as its owner wrote it; null for any other. */
function sharedIn(dir: string): { required: boolean } | null {
  try {
    const text = regularText(join(dir, '.cstp', 'init.json'))
    return text === null ? null : { required: JSON.parse(text).required === true }
  } catch {
    return null
  }
}

/** Mode and address that shared settings have, for somebody who joins. */
function asShared(wiring: Wiring, dir: string): Partial<Wiring> {
  const hooks = initClients.flatMap((client) => connectionOf(client, wiring, dir).hook ?? [])
  const texts = hooks.map((hook) => ('url' in hook ? `--url ${hook.url.replace(/\/hooks\/.*/, '')}` : hook.command))
  const url = texts.map((text) => /--url "?([^\s"]+)/.exec(text)?.[1]).find(Boolean) ?? null
  return { mode: modeOf(hooks[0] ?? null) ?? 'guard', url, http: hooks.some((hook) => 'url' in hook) }
}

function proofText(proof: Proof, fix: string, { paint }: Terminal): string[] {
  if (proof.problems.length === 0) return [`${paint.green('✓')} ${proofLine(proof)}`]
  return [`${paint.red('✗')} ${plain(proofLine(proof))}`, `  ${paint.cyan(`→ ${plain(fix)}`)}`]
}

export const init = defineCommand({
  name: 'init',
  summary: 'Connect the clients of agents in this folder, and prove that it works.',
  about: [
    'Merges into the settings of each client and leaves everything else in them as it is: .claude/settings.local.json, .codex/hooks.json and .codex/config.toml, .cursor/hooks.json, .gemini/settings.json, .github/hooks/cstp.json, .cstp/opencode.js and opencode.json; .mcp.json and .cursor/mcp.json; a marked paragraph of CLAUDE.local.md, AGENTS.md or GEMINI.md. A second run changes nothing.',
    'Commands are written with absolute paths, and the files are listed in .git/info/exclude, since they belong to this machine. At the end it starts the service and runs exactly the commands that it wrote: the exit status is 1 if one does not work.',
    'Hooks are in guard mode: rules of the pack irreversible stop a call, all others only note that they would have. --enforce enforces all rules, --shadow none. The model gets context and precedents in each mode.',
    '--shared writes files that can be committed to a repository: the hook script is in .cstp/, and nothing is specific to this machine. Calls of people who have not run cstp init are not stopped, unless --required. Who runs cstp init in a clone joins: what git tracks stays as it is.',
    '--gateway puts cstp gateway in front of the other MCP servers in these files (not those at an address), so that calls of their tools are judged whatever the client does.',
    '--undo restores every file byte for byte, also in a folder that was moved or copied. If a file was changed since, it removes only what cstp init added.',
  ],
  flags: {
    client: choices(initClients, `Of ${initClients.join(', ')}; by default those that are installed or used here.`),
    enforce: toggle('Hooks stop what any rule blocks.'),
    shadow: toggle('Hooks stop nothing.'),
    shared: toggle('Write files that a repository can share.'),
    gateway: toggle('Start the other MCP servers of the clients through cstp gateway, which judges their calls.'),
    required: toggle('With --shared: stop calls of people who have not run cstp init.'),
    'skip-proof': toggle('Start and run nothing.'),
    undo: toggle('Undo what was written in this folder.'),
    dir: value('folder', 'Folder of the project; by default this one.'),
    url: value('url', 'Server to call; by default the service of the data directory.'),
  },
  examples: [
    ['cstp init', 'connect the clients that are used here'],
    ['cstp init --client codex --enforce', 'let all rules stop calls of Codex'],
    ['cstp init --undo', 'every file as it was'],
  ],
  async run(run) {
    const { flags, env, terminal } = run
    const configuration = await run.configuration()
    const { settings } = configuration
    const data_dir = resolve(settings.data_dir)
    const dir = resolve(flags.dir ?? '.')
    const path = env.PATH ?? ''
    if (flags.enforce && flags.shadow) throw misuse('--enforce and --shadow exclude each other')
    const asOwner = sharedIn(dir)
    // Who runs it in a folder that shares its settings joins: they stay as they are.
    const joins = !flags.shared && asOwner !== null
    const shared = flags.shared || joins
    if (joins && !flags.undo && (flags.enforce || flags.shadow || flags.gateway || flags.url !== undefined))
      throw misuse('the settings of this folder are shared, as .cstp/init.json says: only --shared changes them')
    if (flags.gateway && flags.shared) throw misuse('--gateway writes absolute paths, which --shared excludes')
    if (flags.required && !flags.shared) throw misuse('--required is for --shared')
    const asked = flags.url === undefined ? null : addressOf(flags.url, configuration)
    if (flags.gateway && asked !== null && !isHere(asked))
      throw misuse(
        `--gateway starts servers on this machine, where the rules of ${asked} do not apply: name the servers in gateway of its settings, and connect the clients to ${asked}/gateway/<name>`,
      )
    const hasToken = Boolean(env.CSTP_AGENT && env.CSTP_TOKEN)
    const given: Wiring = {
      shared,
      required: flags.required || (shared && asOwner?.required === true),
      mode: flags.enforce ? 'enforce' : flags.shadow ? 'shadow' : 'guard',
      url: asked,
      data_dir,
      program: ownCommand(),
      // Bun takes a third of Node's time for the script.
      runtime: isCompiled && process.platform === 'win32' ? Bun.which('node', { PATH: path }) : process.execPath,
      http: (asked?.startsWith('https:') ?? false) && (shared || hasToken) && isKnownVersion(path),
      gateway: flags.gateway,
      windows: process.platform === 'win32',
    }
    const wiring = joins ? { ...given, ...asShared(given, dir) } : given
    const { mode, url } = wiring
    const repository = repositoryOf(dir)
    const shown = ({ path: at, what }: Change) => {
      const near = relative(dir, at)
      return `${what.padEnd(9)}  ${plain(near.startsWith('..') ? at : near)}`
    }
    if (flags.undo) {
      const both = [true, false].flatMap((one) => editsOf(initClients, { ...given, shared: one }, dir))
      const changes = await undo(data_dir, dir, [...both, ...(repository ? [excludeEdit(repository, [])] : [])])
      await print(run, { changes }, () =>
        changes.length === 0 ? 'Nothing was written here.\n' : `${changes.map(shown).join('\n')}\n`,
      )
      return 0
    }
    const clients = flags.client.length > 0 ? flags.client : clientsIn(dir, path)
    const planned = editsOf(clients, wiring, dir)
    const inside = planned.map((edit) => edit.path).filter((at) => !relative(dir, at).startsWith('..'))
    const tracked = flags.shared ? new Set<string>() : trackedOf(dir, inside)
    // A page that the repository has is not changed for one machine: hooks bring the context too.
    const edits = editsOf(clients, wiring, dir, tracked).filter(({ path: at }) => !joins || !tracked.has(at))
    const local = inside.filter((at) => !tracked.has(at))
    const changes = await write(configuration, env, wiring, {
      dir,
      clients,
      edits: [...edits, ...(repository && !wiring.shared ? [excludeEdit(repository, local)] : [])],
    })
    const kept = edits.filter((edit) => tracked.has(edit.path)).map((edit) => relative(dir, edit.path))
    const service = flags['skip-proof'] || url !== null ? null : await begin(data_dir, env)
    const down = service?.state === 'down' ? service : null
    const proofs: Proof[] = []
    if (!flags['skip-proof'] && down === null)
      for (const client of clients) proofs.push(await prove(client, connectionOf(client, wiring, dir), { dir, env }))
    const isHereAsked = dir === resolve(env.INIT_CWD ?? '.')
    const again = commandLine(['init', ...(isHereAsked ? [] : ['--dir', dir])], data_dir)
    const offers = flags['skip-proof'] || flags.shared ? [] : await offersOf(dir, data_dir)
    const canAsk = !run.json && process.stdin.isTTY === true && terminal.live
    await print(run, { clients, mode, changes, tracked: kept, proofs, down: down?.why ?? null }, () =>
      [
        ...changes.map(shown),
        ...(joins ? ['The settings of this folder are shared, and stay as they are: you have joined.'] : []),
        ...(kept.length > 0 ? [`${kept.join(', ')}: git tracks it, so do not commit the change, or use --shared`] : []),
        '',
        ...(down === null ? [] : [`✗ ${plain(down.why)}`, `  → ${plain(down.fix)}`]),
        ...proofs.flatMap((proof) => proofText(proof, fixOf(proof.problems[0] ?? '', again, data_dir), terminal)),
        modes[mode],
        'The model gets the context of its session and precedents for each prompt, in each mode.',
        settings.hook_prompts === 'text'
          ? `Prompts are kept as text in ${data_dir}, for all who may read decisions; CSTP_HOOK_PROMPTS=digest keeps none.`
          : 'No prompt is kept, only its digest (CSTP_HOOK_PROMPTS=text keeps it without secrets).',
        ...clients.flatMap((client) => trust[client] ?? []),
        ...(clients.includes('codex') ? [typing(dir)] : []),
        '',
        `Check again:           ${commandLine(['doctor'], data_dir)}`,
        `Take everything back:  ${again} --undo`,
        ...(canAsk ? [] : offers.map(offerLine)),
        '',
      ].join('\n'),
    )
    if (offers.length > 0 && canAsk && down === null) await askToImport(offers, wiring.program, dir, data_dir)
    return down === null && proofs.every(({ problems }) => problems.length === 0) ? 0 : 1
  },
})

/** Writes the files, and how the service is started. @throws Failure naming the file that can't be edited */
async function write(
  configuration: Configuration,
  env: Record<string, string | undefined>,
  wiring: Wiring,
  { dir, clients, edits }: { dir: string; clients: readonly InitClient[]; edits: Parameters<typeof apply>[2] },
): Promise<Change[]> {
  await mkdir(wiring.data_dir, { recursive: true, mode: 0o700 })
  const wirings = Object.fromEntries(clients.map((client) => [client, wiring]))
  try {
    const changes = await apply(wiring.data_dir, { dir, wirings, at: timestamp(Date.now()) }, edits)
    if (wiring.url === null) await noteCommand(configuration, addressOf(undefined, configuration), env)
    return changes
  } catch (error) {
    if (error instanceof Uneditable) throw new Failure(`${error.message}; nothing was written`)
    throw error
  }
}
