/** checkGuardrails with 100 rules over HTTP, durable audit line included. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, tokens } from '../bench.ts'
import { answerBytes, callBody, inTurn, post, readFigures } from '../calls.ts'
import { isResult, type Load } from '../load.ts'
import { against, rowOf } from '../report.ts'

const part = 'guardrails'
const count = 100

/** Half of them look at fields, half are CEL; none fires. */
const plainRules = (count: number): object[] =>
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

const action = {
  description: 'Deploy version 2.1 of the order service to production after the tests passed',
  category: 'deployment',
  stakes: 'high' as const,
  confidence: 0.95,
  context: { amount: 120, environment: 'production', tests_passed: true, files: ['src/a.ts', 'src/b.ts'] },
}

const isAllowed: Load['ok'] = (reply) => isResult(reply) && reply.body.includes('"allowed":true')

export async function guardrails(bench: Bench): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-bench-rules-'))
  await writeFile(join(dir, 'rules.yaml'), JSON.stringify(plainRules(count)))
  const env = { GUARDRAILS_PATHS: dir }
  const child = await bench.server(await bench.empty('rules'), { embedder: 'hash', env })
  const body = callBody('checkGuardrails', { action })
  const echo = await bench.echo(await answerBytes(child, body))
  const base = rowOf(part, 'echo of its answer', {
    servers: null,
    ...(await readFigures(echo, () => post(echo, body))),
  })
  await echo.stop()
  const next = inTurn(tokens.map((by) => post(child, body, by)))
  const row = rowOf(part, `checkGuardrails over HTTP, ${count} rules`, await readFigures(child, next, isAllowed))
  await child.stop()
  await rm(dir, { recursive: true })
  bench.add(base)
  bench.add(against(row, base))
}
