/** cstp hook: forwards a client's event to the server, and reports what hooks stopped or would have stopped. */
import { hook as sendHook } from '../../plugin/hooks/cstp-hook.mjs'
import { initClients } from '../app/init/wiring.ts'
import { dayMs, timestamp } from '../core/time.ts'
import { numberOf } from './args.ts'
import { choices, defineCommand, toggle, value } from './command.ts'
import { connectionFlags, type Result, withConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { auditEntries } from './pages.ts'
import { type Column, jsonLine, type Paint, plain, second, tableText } from './terminal.ts'

const defaultDays = 7

interface Stopped {
  at: string
  client: string
  agent: string
  /** False if the call was stopped, true if it would have been in enforcing mode. */
  shadow: boolean
  /** How the call ran that should not have run so, or that hooks were changed; null if this is about a verdict. */
  ran: Astray | null
  rules: string[]
  description: string
  input: unknown
  record_id: string | null
}

type Entry = Result<'listAudit'>['entries'][number]

/** What an entry says of a call that was stopped, or would have been, or ran all the same; null if it says none of it. */
function stoppedBy({ at, agent, method, detail, allowed }: Entry): Stopped | null {
  if (detail === null || typeof detail !== 'object') return null
  const client = method.slice('POST /hooks/'.length)
  if ('ran' in detail) {
    const { ran, tool, evaluation } = detail as { ran: Astray; tool: string; evaluation: string | null }
    return { at, client, agent, shadow: false, ran, rules: [], description: tool, input: null, record_id: evaluation }
  }
  if ('hooks' in detail) {
    const description = detail.hooks as string
    return {
      at,
      client,
      agent,
      shadow: false,
      ran: 'hooks_changed',
      rules: [],
      description,
      input: null,
      record_id: null,
    }
  }
  if (allowed === null) return null
  const {
    violations = [],
    would_block = [],
    input,
    record_id = null,
  } = detail as {
    violations?: string[]
    would_block?: string[]
    input?: { description?: string; context?: { input?: unknown } }
    record_id?: string | null
  }
  const rules = [...violations, ...would_block]
  if (rules.length === 0) return null
  const description = input?.description ?? ''
  const asked = input?.context?.input ?? null
  return { at, client, agent, shadow: allowed, ran: null, rules, description, input: asked, record_id }
}

type Astray = keyof typeof ranAs

const ranAs = {
  though_denied: 'RAN though stopped',
  other_than_judged: 'RAN with another input',
  unjudged: 'RAN unjudged',
  hooks_changed: 'HOOKS changed',
}

const columns = (paint: Paint): Column<Stopped>[] => [
  { title: 'time', text: ({ at }) => second(at) },
  { title: 'client', text: ({ client }) => client, paint: (text) => paint.cyan(text) },
  { title: 'agent', text: ({ agent }) => plain(agent), rank: 1 },
  {
    title: 'verdict',
    text: ({ shadow, ran }) => (ran !== null ? ranAs[ran] : shadow ? 'would stop' : 'stopped'),
    paint: (text, { ran }) => (ran === null ? text : paint.red(text)),
  },
  { title: 'rules', text: ({ rules }) => plain(rules.join(' ')), rank: 3 },
  { title: 'call', text: ({ description }) => plain(description), grows: true },
]

const report = defineCommand({
  name: 'hook report',
  summary: 'Show what hooks stopped, or would have stopped in shadow mode.',
  about: [
    'Newest first, from the audit trail. Calls that ran though they were stopped, with another input than the checked one, or without a check are in red: the client did not obey its hook.',
    'With --json each line has the input of the call, without its secrets.',
  ],
  flags: {
    days: value('n', `Days to look back; by default ${defaultDays}.`),
    client: choices(initClients, 'Only of these clients.'),
    ...connectionFlags,
  },
  examples: [['cstp hook report --days 1', 'what the rules would have stopped since yesterday']],
  async run(run) {
    const { flags, terminal, json } = run
    const days = numberOf('days', flags.days) ?? defaultDays
    if (days <= 0) throw misuse('--days needs a number above 0')
    const since = timestamp(Date.now() - days * dayMs)
    const clients = flags.client.length > 0 ? flags.client : initClients
    const found: Stopped[] = []
    await withConnection(run, async (connection) => {
      for (const client of clients)
        for await (const entry of auditEntries(connection, { since, method: `POST /hooks/${client}` }))
          found.push(...[stoppedBy(entry)].filter((one) => one !== null))
    })
    found.sort((a, b) => (a.at < b.at ? 1 : -1))
    if (json) for (const one of found) await terminal.out(jsonLine(one))
    else if (found.length === 0) await terminal.out('Nothing was stopped, or would have been.\n')
    else await terminal.out(tableText(found, columns(terminal.paint), terminal))
  },
})

export const hook = defineCommand({
  name: 'hook',
  usage: '<client>',
  summary: 'Send a hook event from stdin to the server, and print the response.',
  about: [
    `The command that hooks run. The clients are ${initClients.join(', ')}. cstp init writes a script that does the same and starts faster.`,
    'A tool call that could not be evaluated is stopped: the exit status is 2. With --fail-open it is allowed, and the event is queued in hook-spool.jsonl of the data directory until the server responds again; with --shadow it is allowed without a message.',
    'The token is taken from CSTP_AGENT and CSTP_TOKEN, else from the file token of the data directory.',
  ],
  verbs: [report],
  flags: {
    'fail-open': toggle('Allow calls that could not be evaluated, and send the event later.'),
    guard: toggle('Stop only what rules of the pack irreversible block.'),
    shadow: toggle('Stop nothing; record what would have been stopped.'),
    url: value('url', 'Server to call (CSTP_URL); by default that of the data directory.'),
  },
  examples: [['cstp hook codex --fail-open', 'as the command of a hook of Codex']],
  async run({ words, flags, env, terminal, configuration }) {
    const [client] = words
    if (!initClients.some((one) => one === client))
      throw misuse(`${JSON.stringify(client)} is not one of ${initClients.join(', ')}, report`)
    const body = await Bun.stdin.text()
    const given = { ...flags, 'data-dir': (await configuration()).settings.data_dir }
    const { status, out, err } = await sendHook({ client: client!, flags: given, env, body, cwd: process.cwd() })
    if (out !== '') await terminal.out(out)
    if (err !== '') terminal.note(err)
    return status
  },
})
