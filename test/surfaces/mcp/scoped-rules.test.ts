/** Rules of a project, a scope, a pull request or a tag block over MCP as they do over JSON-RPC. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Running, startServing, tokens } from '../../support/serving.ts'
import { jsonOf, lines, overHttp, type Peer } from './peers.ts'

const rules = `
- { id: of-project, scope: acme/app, message: m, condition_category: deployment }
- { id: of-scope, scope: billing, message: m, condition_category: deployment }
- { id: of-pr, message: m, conditions: [{ type: field, field: pr, operator: "=", value: 7 }] }
- { id: of-tag, message: m, condition_tags: contains frozen }
`
let server: Running
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cstp-rules-'))
  await writeFile(join(folder, 'rules.yaml'), rules)
  server = await startServing({ GUARDRAILS_PATHS: folder, CSTP_RECORD_GUARDRAILS: 'block' })
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Violated {
  violations: { guardrail_id: string }[]
}
const idsIn = (answer: unknown) => (answer as Violated).violations.map(({ guardrail_id }) => guardrail_id)

/** Each with the rule that it violates; none for the last. */
const cases: [object, string[]][] = [
  [{ project: 'acme/app' }, ['of-project']],
  [{ project: 'Acme/App' }, ['of-project']],
  [{ context: { project: 'acme/app' } }, ['of-project']],
  [{ project: 'acme/web', context: { project: 'acme/app' } }, []],
  [{ scope: 'billing' }, ['of-scope']],
  [{ project: 'acme/web', pr: 7 }, ['of-pr']],
  [{ tags: ['frozen'] }, ['of-tag']],
  [{ project: 'acme/app', scope: 'billing', pr: 7, tags: ['frozen'] }, ['of-project', 'of-scope', 'of-pr', 'of-tag']],
  [{ project: 'acme/web', scope: 'shop', pr: 8, tags: ['open'] }, []],
]

describe.each(lines.map((line) => [line]))('%s', (line) => {
  let peer: Peer
  beforeAll(async () => {
    peer = await overHttp(line, server.url, tokens.ada)
  })
  afterAll(() => peer.close())
  const tool = async (name: string, input: object) =>
    jsonOf(await peer.callTool({ name, arguments: input as Record<string, unknown> }))

  test('check_action and pre_action take project, pr, scope and tags, and rules on them block as over JSON-RPC', async () => {
    for (const [fields, ids] of cases) {
      const action = { description: 'Deploy', category: 'deployment', confidence: 0.9, ...fields }
      expect([fields, idsIn(await server.call('checkGuardrails', { action }))]).toEqual([fields, ids])
      expect([fields, idsIn(await tool('check_action', action))]).toEqual([fields, ids])
      expect([fields, idsIn(await server.call('preAction', { action }))]).toEqual([fields, ids])
      const answer = await tool('pre_action', action)
      expect([fields, idsIn(answer)]).toEqual([fields, ids])
      expect([fields, answer.allowed, answer.decision_id !== null]).toEqual([
        fields,
        ids.length === 0,
        ids.length === 0,
      ])
    }
  })

  test('log_decision takes them too, and is refused by the same rules', async () => {
    type Fields = { project?: string; pr?: number; context?: object }
    for (const [{ project, pr, context: action_context, ...fields }, ids] of cases as [Fields, string[]][]) {
      const given = { decision: 'Deploy', category: 'deployment', confidence: 0.9, action_context, ...fields }
      const wire = { ...given, project: { name: project ?? null, pr: pr ?? null } }
      const over = await server.call('recordDecision', wire).then(
        () => [],
        (error: Error) => idsIn(JSON.parse(error.message).data),
      )
      expect([fields, over]).toEqual([fields, ids])
      const answer = await tool('log_decision', { ...given, project, pr })
      if (ids.length === 0) expect(answer).toMatchObject({ success: true })
      else
        expect(answer).toMatchObject({ code: -32005, message: expect.stringContaining(`Blocked by ${ids.join(', ')}`) })
    }
  })
})
