/** Fills case files in: `bun test/wire/record.ts test/wire/cases/x.yaml` asks the service where a step has neither result nor error. */
import { readFile, writeFile } from 'node:fs/promises'
import { isMap, parseDocument, visit } from 'yaml'
import { codes } from '../../sdk/errors.ts'
import { type As, openMemoryProgram } from '../support/program.ts'
import { at, filled, passing, type Saved, type SeenError } from './replay.ts'
import { serveProgram } from './server.ts'
import { http } from './transports.ts'

const words: [RegExp, string][] = [
  [/^\d{4}-\d{2}-\d{2}-decision-[0-9a-f]{12}$/, '<id>'],
  [/^\d{4}-\d{2}-\d{2}-evaluation-[0-9a-f]{19}$/, '<record>'],
  [/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/, '<time>'],
  [/^\d{4}-\d{2}-\d{2}$/, '<day>'],
  [/^[0-9a-f]{64}$/, '<hash>'],
  [/^[0-9a-f]{8}-[0-9a-f-]{27}$/, '<text>'],
  [/^decisions\/.*\.yaml$/, '</^decisions/\\d{4}/\\d{2}/.+\\.yaml$/>'],
]

/** Names of fields whose values differ from run to run. */
const varying = /^(?:query_time_ms|duration_ms|\w+_seconds)$/

/** An answer with words for what differs from run to run. Ids that the case itself gives stay as they are. */
function softened(value: unknown, saved: Saved, given: string, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => softened(one, saved, given, key))
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [
        String(softened(name, saved, given)),
        softened(one, saved, given, name),
      ]),
    )
  if (typeof value === 'number') {
    if (varying.test(key)) return '<number>'
    return Number.isInteger(value) || String(value).length < 6 ? value : `<${Number(value.toFixed(4))} ± 0.001>`
  }
  if (typeof value !== 'string' || given.includes(`"${value}"`)) return value
  if (key === 'request_id') return '<text>'
  const name = Object.keys(saved).find((one) => saved[one] === value)
  if (name !== undefined) return `$${name}`
  return words.find(([form]) => form.test(value))?.[1] ?? value
}

interface RawStep {
  call?: string
  as?: As
  params?: unknown
  result?: unknown
  error?: unknown
  save?: Record<string, string>
  pass?: string
  embedder?: 'up' | 'away'
}
interface RawFile {
  method: string
  cases: { rules?: string; steps: RawStep[] }[]
}

/** The text of a case file with every step filled in. */
async function recorded(text: string): Promise<string> {
  const document = parseDocument(text)
  const { method, cases } = document.toJS() as RawFile
  for (const [number, { rules, steps }] of cases.entries()) {
    const program = await openMemoryProgram()
    const server = serveProgram(program)
    const transport = await http.open(server)
    const saved: Saved = {}
    if (rules) await program.rules(rules)
    for (const [index, step] of steps.entries()) {
      if (step.pass) program.clock.now += passing(step.pass)
      if (step.embedder) program.embedder.health = step.embedder
      if (step.pass || step.embedder) continue
      const params = filled(step.params ?? {}, saved)
      const outcome = await transport.call(step.as ?? 'alice', step.call ?? method, params)
      const part = 'error' in outcome ? 'error' : 'result'
      if (step.result === undefined && step.error === undefined) {
        const given = JSON.stringify(step.params ?? {})
        const answer = softened('error' in outcome ? told(outcome.error) : outcome.result, saved, given)
        const node = document.getIn(['cases', number, 'steps', index])
        if (isMap(node)) node.flow = false
        document.setIn(['cases', number, 'steps', index, part], document.createNode(answer))
      }
      if ('result' in outcome)
        for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = at(outcome.result, path)
    }
    await server.stop()
    await program.close()
  }
  visit(document, {
    Collection(_, node) {
      if (JSON.stringify(node.toJSON()).length < 100 && !node.commentBefore) node.flow = true
    },
  })
  return document.toString({ lineWidth: 140 })
}

/** An error as a step spells it. */
function told({ code, message, data }: SeenError): Record<string, unknown> {
  const [name] = Object.entries(codes).find(([, one]) => one === code)!
  return { error: name, message, ...(data !== undefined && { data }) }
}

for (const path of process.argv.slice(2)) await writeFile(path, await recorded(await readFile(path, 'utf8')))
