/** cstp token: creates, lists and revokes tokens of agents in the data directory. */
import { grantsOf, type Settings } from '../app/config/config.ts'
import { duration } from '../app/config/read.ts'
import { createToken, endToken, listTokens, type TokenState } from '../app/tokens.ts'
import { requireWorkspace } from '../app/workspaces/folder.ts'
import { grantedScopes, parseTokens, type Role, roles, type Scope, scopes, vouches } from '../core/caller.ts'
import { messageOf } from '../core/log.ts'
import { choice, choices, defineCommand, type Run, toggle, value } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { type Column, jsonLine, minute, type Paint, plain, print, tableText } from './terminal.ts'

const defaultExpiry = '90d'
const defaultOverlap = '1d'

/** The scopes of a token, those granted to its agent by name included. */
const scopesOf = (
  settings: Settings,
  { agent, scopes: own, workspace }: Pick<TokenState, 'agent' | 'scopes' | 'workspace'>,
): Scope[] => grantedScopes({ agent, scopes: own, ...(workspace !== undefined && { workspace }) }, grantsOf(settings))

/** Every token that is valid now. */
export const tokenHolders = (
  settings: Settings,
): { agent: string; workspace?: string; scopes: Scope[]; token: string }[] =>
  listTokens(settings.data_dir, Date.now())
    .filter(({ state }) => state === 'active')
    .map(({ agent, workspace, ...token }) => ({
      ...{ agent, ...(workspace !== undefined && { workspace }) },
      scopes: scopesOf(settings, { agent, ...token, ...(workspace !== undefined && { workspace }) }),
      token: token.id,
    }))

/** @returns milliseconds; null for `never` */
function readSpan(flag: string, given: string): number | null {
  if (given === 'never' && flag === '--expires') return null
  try {
    return duration(given) * 1_000
  } catch (error) {
    throw misuse(`${flag}: ${messageOf(error)}${flag === '--expires' ? ', or never' : ''}; received ${given}`)
  }
}

/** The scopes that the flags name; null if they name none. */
function readScopes(named: readonly Scope[], role: Role | undefined): Scope[] | null {
  const all = new Set([...named, ...(role === undefined ? [] : roles[role])])
  return all.size === 0 ? null : scopes.filter((scope) => all.has(scope))
}

/** The token of this id or name. @throws Failure if there is none, or several valid ones have the name */
function find(data_dir: string, given: string): TokenState {
  const all = listTokens(data_dir, Date.now())
  const [named, ...others] = all.filter(({ name, state }) => name === given && state === 'active')
  if (others.length > 0)
    throw new Failure(`several valid tokens are named ${given}: ${[named!, ...others].map(({ id }) => id).join(', ')}`)
  const found = all.find(({ id }) => id === given) ?? named
  if (found === undefined) throw new Failure(`there is no valid token ${given}: cstp token list shows all`)
  return found
}

/** What a new token takes over from the one that it replaces. */
function replaced(data_dir: string, given: string | undefined): TokenState | null {
  if (given === undefined) return null
  const old = find(data_dir, given)
  if (old.state !== 'active') throw new Failure(`the token ${old.id} is ${old.state}: create one without --replaces`)
  return old
}

const createFlags = {
  agent: value('name', 'Agent that calls with it. Required without --replaces.'),
  name: value('text', 'What it is for, in the list; by default the agent.'),
  scopes: choices(scopes, `Its scopes: ${scopes.join(', ')}; by default read and write.`),
  role: choice(
    Object.keys(roles) as Role[],
    `A role in place of scopes, or beside them: ${Object.keys(roles).join(', ')}.`,
  ),
  expires: value('time', `How long it is valid, such as 30d or 12h, or never; by default ${defaultExpiry}.`),
  workspace: value('name', 'Workspace that it is for; by default the data directory itself.'),
  replaces: value('id', 'Token that it replaces: agent, name and scopes are taken over.'),
  overlap: value('time', `How long the replaced token remains valid; by default ${defaultOverlap}.`),
} as const

async function create(run: Run<typeof createFlags>): Promise<undefined> {
  const { flags, terminal } = run
  const { settings } = await run.configuration()
  const { data_dir } = settings
  const old = replaced(data_dir, flags.replaces)
  const agent = flags.agent ?? old?.agent
  if (agent === undefined) throw misuse('cstp token create needs --agent <name>, or --replaces <id>')
  if (old && old.agent !== agent) throw misuse(`--agent: the token ${old.id} is one of ${old.agent}`)
  try {
    parseTokens([{ agent, token_sha256: '0'.repeat(64) }])
  } catch (error) {
    throw misuse(`--agent: ${messageOf(error).replace(/^entry 1: /, '')}`)
  }
  const workspace = flags.workspace ?? old?.workspace
  if (old && old.workspace !== workspace) throw misuse(`--workspace: the token ${old.id} is of another one`)
  if (workspace !== undefined) requireWorkspace(data_dir, workspace)
  const own = readScopes(flags.scopes, flags.role) ?? old?.scopes ?? null
  const given = { agent, scopes: own, ...(workspace !== undefined && { workspace }) }
  const all = scopesOf(settings, given)
  if (vouches(all))
    throw new Failure(`${agent} would have approve and write: only an administrator may have both; name its --scopes`)
  const now = Date.now()
  const span = readSpan('--expires', flags.expires ?? defaultExpiry)
  const overlap = readSpan('--overlap', flags.overlap ?? defaultOverlap)!
  const expires_at = span === null ? null : new Date(now + span).toISOString()
  const { created, token } = await createToken(
    data_dir,
    { ...given, name: flags.name ?? old?.name ?? agent, expires_at },
    now,
  )
  if (old) await endToken(data_dir, old.id, now + overlap)
  if (run.json) {
    await terminal.out(jsonLine({ ...created, scopes: all, token, replaces: old?.id ?? null }))
    return
  }
  await terminal.out(`${token}\n`)
  const until = expires_at === null ? 'it does not expire' : `until ${minute(expires_at)} UTC`
  terminal.note(
    `Token ${created.id} of ${plain(agent)}${workspace === undefined ? '' : ` in ${workspace}`} (${all.join(' ')}), ${until}. It is not shown again.\n`,
  )
  terminal.note(`Callers send  Authorization: Bearer ${plain(agent)}:<token>\n`)
  if (old) terminal.note(`The token ${old.id} remains valid for ${flags.overlap ?? defaultOverlap}.\n`)
}

const atOf = (at: string | null): string => (at === null ? 'never' : minute(at))

const columns = (paint: Paint, settings: Settings): Column<TokenState>[] => [
  { title: 'id', text: ({ id }) => id, paint: (text) => paint.bold(text) },
  {
    title: 'agent',
    text: ({ agent, workspace }) => plain(workspace === undefined ? agent : `${agent} in ${workspace}`),
    paint: (text) => paint.cyan(text),
  },
  { title: 'name', text: ({ name }) => plain(name), grows: true },
  { title: 'scopes', text: (token) => scopesOf(settings, token).join(' ') },
  { title: 'state', text: ({ state }) => state },
  { title: 'ends', text: ({ ends_at }) => atOf(ends_at), rank: 1 },
  { title: 'last used', text: ({ last_used_at }) => atOf(last_used_at), rank: 2 },
]

const list = defineCommand({
  name: 'token list',
  summary: 'List the tokens: agent, name, scopes, end and last use.',
  about: [
    'Tokens of CSTP_AUTH_TOKENS and the files token and admin.token are not listed: cstp config lists their agents.',
  ],
  flags: { all: toggle('List expired and revoked ones too.') },
  examples: [['cstp token list', 'which are valid']],
  async run(run) {
    const { settings } = await run.configuration()
    const tokens = listTokens(settings.data_dir, Date.now()).filter(({ state }) => run.flags.all || state === 'active')
    await print(run, { tokens: tokens.map((one) => ({ ...one, scopes: scopesOf(settings, one) })) }, () =>
      tokens.length === 0
        ? 'No token is valid.\n'
        : tableText(tokens, columns(run.terminal.paint, settings), run.terminal),
    )
  },
})

const revoke = defineCommand({
  name: 'token revoke',
  usage: '<id>',
  summary: 'End a token now, by its id or its name.',
  about: ['A service that runs refuses it within two seconds; dashboard sessions that were started with it end.'],
  examples: [['cstp token revoke 3f9a1c07', 'an id of cstp token list']],
  async run(run) {
    const { data_dir } = (await run.configuration()).settings
    const { id, agent, state } = find(data_dir, run.words[0]!)
    if (state === 'active') await endToken(data_dir, id, Date.now())
    await print(run, { id, agent, state: state === 'active' ? 'revoked' : state }, () =>
      state === 'active' ? `revoked  ${id} of ${plain(agent)}\n` : `${id} of ${plain(agent)} is already ${state}\n`,
    )
  },
})

export const token = defineCommand({
  name: 'token',
  summary: 'Create, list and revoke tokens of agents.',
  about: [
    'They are valid beside those of the settings, at once and without a restart. The data directory has their SHA-256 only, each in a file of tokens/ for its owner alone.',
  ],
  verbs: [
    defineCommand({
      name: 'token create',
      summary: 'Create a token, and print it once.',
      about: [
        'Prints the token alone on stdout. With --replaces the old one remains valid for the overlap, so that callers can change over.',
      ],
      flags: createFlags,
      examples: [
        ['cstp token create --agent ci --scopes evidence --expires 30d', 'for a pipeline'],
        ['cstp token create --replaces 3f9a1c07 --overlap 12h', 'rotate it'],
      ],
      run: create,
    }),
    list,
    revoke,
  ],
  examples: [
    ['cstp token create --agent planner', 'a token that may read and write'],
    ['cstp token list', 'which are valid'],
  ],
})
