/** cstp audit: the trail of verdicts and writes, and what the current rules would decide on its inputs. */
import { boundMs } from '../../sdk/schema/params.ts'
import { durationMs, timestamp } from '../core/time.ts'
import { wholeOf } from './args.ts'
import { choice, defineCommand, type Run, toggle, value } from './command.ts'
import { connectionFlags, type Result, withConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { auditEntries } from './pages.ts'
import { type Column, jsonLine, type Paint, plain, second, tableText } from './terminal.ts'

const defaultLimit = 50

const flags = {
  since: value('date', 'Since this date or time, or for this long (24h, 7d).'),
  rule: value('id', 'Only entries in which this rule or circuit breaker fired.'),
  method: value('name', 'Only calls of this method.'),
  blocked: toggle('Only entries that were not allowed.'),
  limit: value('n', `Most entries; by default ${defaultLimit}.`),
  ...connectionFlags,
  agent: value('name', 'Only calls of this agent.'),
  as: value('name', 'Agent to call as (CSTP_AGENT); by default local. It needs the scope admin.'),
} as const

const verdictOf = ({ allowed }: AuditEntry): string => (allowed === null ? '' : allowed ? 'allowed' : 'blocked')

const columns = (paint: Paint): Column<AuditEntry>[] => [
  { title: 'time', text: ({ at }) => second(at) },
  { title: 'agent', text: ({ agent }) => plain(agent), paint: (text) => paint.cyan(text) },
  { title: 'method', text: ({ method }) => plain(method.replace(/^cstp\./, '')), rank: 1 },
  {
    title: 'verdict',
    text: verdictOf,
    paint: (text, { allowed }) => (allowed === false ? paint.red(text) : text),
  },
  { title: 'rules', text: ({ rules }) => plain(rules.join(' ')), rank: 3 },
  { title: 'about', text: aboutOf, grows: true },
]

/** The checked action, or the ids of the decisions that were written. */
function aboutOf({ detail, ids }: AuditEntry): string {
  const input = detail !== null && typeof detail === 'object' && 'input' in detail ? detail.input : null
  const text = input !== null && typeof input === 'object' && 'description' in input ? String(input.description) : ''
  return plain(text || ids.join(' '))
}

/** The filter given by the flags, and the run with the calling agent. @throws Failure naming the invalid flag */
function asked(run: Run<typeof flags>) {
  const { flags: given } = run
  const since = sinceOf(given.since, Date.now())
  const limit = given.limit === undefined ? undefined : wholeOf('--limit', given.limit, 1)
  const method = given.method && !given.method.includes('.') ? `cstp.${given.method}` : given.method
  const filter = {
    ...(since !== undefined && { since }),
    ...(given.agent !== undefined && { agent: given.agent }),
    ...(given.rule !== undefined && { rule: given.rule }),
    ...(method !== undefined && { method }),
    ...(given.blocked && { allowed: false }),
  }
  return { filter, limit, caller: { ...run, flags: { ...given, agent: given.as } } }
}

const replay = defineCommand({
  name: 'audit replay',
  summary: 'Re-evaluate the inputs in the audit trail.',
  about: [
    'First with the archived rules and the recorded past state of each entry: each verdict must be the same, byte by byte; if one is not, the exit status is 1. An entry whose text was redacted, or whose rules were not archived, can’t be repeated; such entries are counted separately.',
    'Then with the rules in force, or those of --guardrails-paths (GUARDRAILS_PATHS), and with the lists of allowed categories and environments of the server: it shows each verdict that would change. Use it before a change goes live. A verdict that depends on redacted text, on past state that was not recorded, or on circuit breakers is marked uncertain.',
  ],
  flags: { ...flags, limit: { ...flags.limit, about: 'Most entries; by default all.' } },
  examples: [['cstp audit replay --since 7d --guardrails-paths ./rules', 'what other rules would have said last week']],
  async run(run) {
    const { filter, limit, caller } = asked(run)
    const { runReplay } = await import('./audit-replay.ts')
    const configuration = await run.configuration()
    return withConnection(caller, (connection) => {
      const entries = auditEntries(connection, { ...filter, ...(limit !== undefined && { limit }) })
      return runReplay(configuration, connection, entries, run)
    })
  },
})

const exported = defineCommand({
  name: 'audit export',
  summary: 'Write the audit trail for other tools.',
  about: [
    'One JSON object a line, newest first: as cstp keeps it, or as events of OCSF 1.5 (API Activity; Authorize Session for a granted approval), which tools for security events read. A running service sends the same by itself as OpenTelemetry logs if OTEL_EXPORTER_OTLP_ENDPOINT is set.',
    'Without --texts nothing that agents or people wrote is in it: names, ids, digests, rules and verdicts only.',
  ],
  flags: {
    ...flags,
    limit: { ...flags.limit, about: 'Most entries; by default all.' },
    format: choice(['cstp', 'ocsf'], 'cstp or ocsf; by default cstp.'),
    texts: toggle('With descriptions, reasons and other texts, without secrets.'),
  },
  examples: [['cstp audit export --format ocsf --since 24h > audit.jsonl', 'a day for a SIEM']],
  async run(run) {
    const { terminal, flags: given } = run
    const { filter, limit, caller } = asked(run)
    const { ocsfEvent, withoutTexts } = await import('../app/telemetry/ocsf.ts')
    await withConnection(caller, async (connection) => {
      for await (const found of auditEntries(connection, { ...filter, ...(limit !== undefined && { limit }) })) {
        const entry = given.texts ? found : withoutTexts(found)
        await terminal.out(jsonLine(given.format === 'ocsf' ? ocsfEvent(entry) : entry))
      }
    })
  },
})

export const audit = defineCommand({
  name: 'audit',
  summary: 'Show the audit trail, or re-evaluate its inputs.',
  about: [
    'Every evaluation of guardrails and every write is recorded as an entry: agent, time, method, verdict and the rules that fired. Newest first. With --json each line is an object that also contains the input without its secrets, its digest, the hash of the rules and the duration.',
  ],
  verbs: [replay, exported],
  flags,
  examples: [
    ['cstp audit --since 24h --blocked', 'what was stopped since yesterday'],
    ['cstp audit --rule no-production-without-review --json', 'every time a rule fired, for a program'],
  ],
  async run(run) {
    const { terminal, json } = run
    const { filter, limit = defaultLimit, caller } = asked(run)
    const entries: AuditEntry[] = []
    await withConnection(caller, async (connection) => {
      for await (const entry of auditEntries(connection, { ...filter, limit })) {
        if (json) await terminal.out(jsonLine(entry))
        else entries.push(entry)
      }
    })
    if (json) return 0
    const text = entries.length === 0 ? 'No entry matches.\n' : tableText(entries, columns(terminal.paint), terminal)
    await terminal.out(text)
  },
})

type AuditEntry = Result<'listAudit'>['entries'][number]

/** `--since` as an RFC 3339 time; undefined if not given. @throws Failure if it is neither a date, a time nor a duration */
function sinceOf(given: string | undefined, now_ms: number): string | undefined {
  if (given === undefined) return undefined
  if (/^\d{1,6}[mhdw]$/.test(given)) return timestamp(now_ms - durationMs(given))
  if (boundMs(given, false) === null)
    throw misuse(
      `--since needs a date such as 2026-07-01 or a duration such as 24h or 7d; received ${JSON.stringify(given)}`,
    )
  return given
}
