/** checkGuardrails over HTTP, durable audit line included: 100 plain rules, and 100 of which some ask people, the session and the evidence. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, tokens } from '../bench.ts'
import { answerBytes, callBody, inTurn, post, readFigures } from '../calls.ts'
import { isResult, type Load } from '../load.ts'
import type { Child } from '../process.ts'
import { against, type Row, rowOf } from '../report.ts'

const part = 'guardrails'
export const count = 100

/** Half of them look at fields, half are CEL; none fires. */
export const plainRules = (count: number): object[] =>
  Array.from({ length: count }, (_, at) =>
    at % 2 === 0
      ? {
          id: `field${at}`,
          message: 'm',
          condition_stakes: ['high', 'critical'],
          condition_confidence: `< 0.${at % 9}`,
        }
      : {
          id: `cel${at}`,
          message: 'm',
          conditions: [
            { type: 'cel', expression: `has(action.context.amount) && action.context.amount > ${at + 1000}.0` },
          ],
        },
  )

export const action = {
  description: 'Deploy version 2.1 of the order service to production after the tests passed',
  category: 'deployment',
  stakes: 'high' as const,
  confidence: 0.95,
  context: { amount: 120, environment: 'production', tests_passed: true, files: ['src/a.ts', 'src/b.ts'] },
}

const project = 'acme/shop'
/** All of these apply to the action: a grant of a person, a tag, three events, and what happened before decide. */
const askingRules = [
  {
    id: 'granted',
    action: 'step_up',
    condition_category: 'deployment',
    step_up: { expires: '4h', remember: 'exact:24h' },
  },
  { id: 'tagged', action: 'log', tag: 'production', 'condition_context.environment': 'production' },
  { id: 'leaked', message: 'm', condition_category: 'deployment', 'condition_session.classifications': 'contains pii' },
  { id: 'read', message: 'm', conditions: [{ type: 'cel', expression: '"read_secrets" in action.session.actions' }] },
  {
    id: 'proven',
    message: 'm',
    condition_category: 'deployment',
    requires: [
      { evidence: 'ci_completed', conclusion: 'success', for: 'context.pr' },
      { evidence: 'pr_review_approved', by: 'human', for: 'context.pr' },
      { evidence: 'pr_merged', for: 'context.pr' },
    ],
  },
]

const asked = { ...action, project, context: { ...action.context, pr: 7 } }

/** The evidence that the rules require, and for each agent a grant by another one. */
async function prepare(child: Child): Promise<void> {
  const send = async (by: string, method: string, params: object) => {
    const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
    const response = await fetch(`${child.url}/cstp`, { method: 'POST', headers, body: callBody(method, params) })
    const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: object }
    if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  const ts = new Date().toISOString()
  const of = { repo: project, pr_number: 7, sha: 'a'.repeat(40) }
  const [first, second] = tokens as [string, string]
  await send(first, 'ingestEvidence', {
    source: 'ci',
    events: [
      { event_type: 'ci_completed', ts, payload: { ...of, conclusion: 'success' } },
      { event_type: 'pr_review_approved', ts, payload: { ...of, reviewer: 'zoe', actor_is_human: true } },
      { event_type: 'pr_merged', ts, payload: of },
    ],
  })
  for (const by of tokens) {
    const { approval } = await send(by, 'checkGuardrails', { action: asked })
    const { id } = approval as { id: string }
    await send(by === first ? second : first, 'decideApproval', { id, decision: 'approve' })
  }
}

const isAllowed: Load['ok'] = (reply) => isResult(reply) && reply.body.includes('"allowed":true')

/** One row, and the answer's length. */
async function measure(
  bench: Bench,
  name: string,
  rules: readonly object[],
  asking: boolean,
): Promise<{ row: Row; bytes: number }> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-bench-http-rules-'))
  await writeFile(join(dir, 'rules.yaml'), JSON.stringify(rules))
  const people = tokens.slice(0, 2).map((one) => one.split(':')[0]!)
  const child = await bench.server(await bench.empty(`rules-${name}`), {
    embedder: 'hash',
    env: {
      GUARDRAILS_PATHS: dir,
      CSTP_ADMIN_AGENTS: people.join(','),
      CSTP_APPROVERS: people.join(','),
      CSTP_EVIDENCE_AGENTS: people[0]!,
    },
  })
  try {
    if (asking) await prepare(child)
    const body = callBody('checkGuardrails', { action: asked })
    const next = inTurn(tokens.map((by) => post(child, body, by)))
    const bytes = await answerBytes(child, body)
    return { row: rowOf(part, name, await readFigures(child, next, isAllowed)), bytes }
  } finally {
    await child.stop()
    await rm(dir, { recursive: true })
  }
}

export async function guardrailsOverHttp(bench: Bench): Promise<void> {
  const plain = await measure(bench, `checkGuardrails over HTTP, ${count} rules`, plainRules(count), false)
  const echo = await bench.echo(plain.bytes)
  const body = callBody('checkGuardrails', { action: asked })
  const ceiling = rowOf(part, `echo of its answer (${plain.bytes} bytes)`, {
    servers: null,
    ...(await readFigures(echo, () => post(echo, body))),
  })
  await echo.stop()
  bench.add(ceiling)
  bench.add(against(plain.row, ceiling))
  const rules = [...plainRules(count - askingRules.length), ...askingRules]
  const name = `checkGuardrails over HTTP, ${count} rules with an approval, sessions, evidence`
  bench.add(against((await measure(bench, name, rules, true)).row, plain.row))
}
