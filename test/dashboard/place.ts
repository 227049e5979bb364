/** A service with real decisions for the dashboard to show: PEPs, forecasts, the demo's web shop, and some that are new. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Pep, pepLines } from '../../docs/demo/peps.ts'
import { bareEnv, cstp, type RunningServer, root, startServer } from '../support/process.ts'
import { sharedText } from '../support/shared.ts'

export const people = {
  root: 'root-token-of-the-test',
  coder: 'coder-token-of-the-test',
  reader: 'reader-token-of-the-test',
}
const peps = sharedText('data/peps.jsonl')
const forecasts = sharedText('data/forecasts-2018.csv')
/** Without them there is nothing to look at. */
export const hasData = peps !== null && forecasts !== null

/** The forecasts of one model, three days of its run. */
function forecastLines(csv: string): object[] {
  const [head, ...lines] = csv.trim().split(/\r?\n/)
  const names = head!.split(',')
  return lines
    .map((line) => Object.fromEntries(line.split(',').map((value, at) => [names[at]!, value])))
    .filter(({ version, uncalled }) => version === 'classic' && uncalled === '0')
    .map((row) => {
      const [month, day, year] = row.forecastdate!.split('/').map(Number)
      return {
        source: `forecast ${row.race} ${row.forecastdate} ${row.branch}`,
        date: `20${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
        agent: 'forecaster',
        decision: `The Democrat wins ${row.race}`,
        category: `election ${row.branch}`,
        confidence: Number(row.Democrat_WinProbability),
        outcome: row.Democrat_Won === '1' ? 'success' : 'failure',
      }
    })
}

export const hostile = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'

/** Starts a service for these agents, the first of which may do everything, and for one more that may only read. */
export async function startWithReader(dir: string, agents: Record<string, string>): Promise<RunningServer> {
  const tokens = Object.entries(agents).map(([agent, token]) => ({ agent, token }))
  const reader = { agent: 'reader', token: people.reader, scopes: ['read'] }
  const file = join(dir, 'cstp.yaml')
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ auth: { tokens: [...tokens, reader] } }))
  const [first] = tokens
  return startServer({ dir, env: { CSTP_CONFIG: file }, first: `${first!.agent}:${first!.token}` })
}

/** Decisions of today: some that failed at critical stakes, so that a breaker opens, and one full of script. */
async function today(server: RunningServer, text: string): Promise<{ hostileId: string; pendingId: string }> {
  const record = async (given: object): Promise<string> =>
    (await server.call('recordDecision', { category: 'deployment', confidence: 0.8, ...given })).decision_id as string
  for (const number of [1, 2, 3]) {
    const id = await record({
      decision: `Switch region ${number} to the new cluster at once`,
      stakes: 'critical',
      reasons: [
        { type: 'analysis', text: 'The rehearsal went well.' },
        { type: 'intuition', text: 'It will hold.', strength: 0.3 },
      ],
    })
    await server.call('reviewDecision', {
      decision_id: id,
      outcome: 'failure',
      actual_result: 'The old one had to be brought back.',
      lessons: 'Switch one region and wait a day.',
    })
  }
  const action = { description: 'Delete the old cluster', category: 'deployment', stakes: 'critical', confidence: 0.3 }
  await server.call('checkGuardrails', { action })
  await server.call('recordThought', { text: 'The old cluster still takes a tenth of the reads.' })
  await server.call('queryDecisions', { query: 'switch to a new cluster' })
  const pendingId = await record({
    decision: 'Switch regions one by one, a day apart',
    stakes: 'high',
    context: 'Three switches at once failed.',
    reasons: [{ type: 'pattern', text: 'One at a time shows what goes wrong while it is small.', strength: 0.9 }],
    alternatives_considered: [{ option: 'All at once', reason: 'failed three times' }],
    tags: ['cluster', 'rollout'],
    pattern: 'Change one thing at a time',
  })
  const short = text === hostile ? text.slice(0, 60) : 'deployment'
  const hostileId = await record({
    decision: text,
    context: text,
    category: short,
    reasons: [{ type: short, text }],
    tags: [short],
    pattern: text,
    alternatives_considered: [text],
    bridge: { structure: text, function: text, tolerance: [text] },
    project: { name: text, feature: text, files: [text] },
    reasoning_trace: [text],
    agent_id: text,
    deliberation: { inputs: [{ type: text, content: text }], steps: [{ step: 1, thought: text }] },
  })
  await server.call('recordThought', { text, decision_id: hostileId })
  await server.call('linkDecisions', {
    source_id: pendingId,
    target_id: hostileId,
    edge_type: 'relates_to',
    context: text,
  })
  await server.call('reviewDecision', {
    decision_id: hostileId,
    outcome: 'partial',
    actual_result: text,
    lessons: text,
    notes: text,
  })
  await server.call('recordThought', { text: `A thought that waits ${text}` })
  return { hostileId, pendingId }
}

async function evidence(server: RunningServer, pendingId: string): Promise<void> {
  const at = (hour: number) => `2026-06-01T${String(hour).padStart(2, '0')}:00:00Z`
  const events = [
    { event_type: 'pr_opened', ts: at(8), payload: { pr_number: 7, author: 'agent' } },
    { event_type: 'ci_completed', ts: at(9), payload: { pr_number: 7, conclusion: 'success', all_passed: true } },
    { event_type: 'pr_review_approved', ts: at(10), payload: { pr_number: 7, reviewer: 'maria', note: hostile } },
    { event_type: 'pr_merged', ts: at(11), payload: { pr_number: 7, human_approval_count: 1, approval_count: 1 } },
    { event_type: 'pr_merged', ts: at(12), payload: { pr_number: 8, human_approval_count: 0 } },
    { event_type: 'pr_commit', ts: at(13), payload: { pr_number: 8 } },
  ]
  await server.call('ingestEvidence', { source: 'github', events })
  await server.call('linkEvidence', { decision_id: pendingId, event_seqs: [1, 4] })
}

export interface DashboardPlace {
  server: RunningServer
  hostileId: string
  pendingId: string
}

/** Takes PEPs, forecasts and the demo's decisions into a running service. */
async function importAll(server: RunningServer, tokens: string): Promise<void> {
  const pepsRead = peps!
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Pep)
  // A third of them fills every page and chart.
  const third = <T>(all: readonly T[]): T[] => all.filter((_, at) => at % 3 === 0)
  const lines = [...pepLines(third(pepsRead)), ...third(forecastLines(forecasts!))].map((line) => JSON.stringify(line))
  const file = join(server.dir, 'lines.jsonl')
  await writeFile(file, `${lines.join('\n')}\n${await readFile(join(root, 'docs/demo/decisions.jsonl'), 'utf8')}`)
  const env = bareEnv(server.dir, { CSTP_PORT: new URL(server.url).port, CSTP_AUTH_TOKENS: tokens })
  const { status, err } = await cstp(['import', file, '--agent', 'root', '--token', people.root], env)
  if (status !== 0) throw new Error(`the import failed: ${err}`)
}

/**
 * Starts a service in a folder and fills it. The caller kills it.
 * @param options.plain without a decision full of script
 * @param options.few only the decisions of today, which need no data beside the project
 */
export async function startPlace(dir: string, { plain = false, few = false } = {}): Promise<DashboardPlace> {
  const tokens = Object.entries(people)
    .map((pair) => pair.join(':'))
    .join(',')
  const server = await startServer({ dir, env: { CSTP_AUTH_TOKENS: tokens } })
  if (!few) await importAll(server, tokens)
  const { hostileId, pendingId } = await today(
    server,
    plain ? 'Look at both regions once more before the next switch' : hostile,
  )
  await evidence(server, pendingId)
  return { server, hostileId, pendingId }
}
