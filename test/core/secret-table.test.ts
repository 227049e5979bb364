/** Each of the texts with a secret, and without one, on every way into the service and out of it. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CstpError } from '../../sdk/errors.ts'
import { certainSecret, maskSecrets, withoutSecretTexts } from '../../src/core/secrets.ts'
import { endCall, judgeCall } from '../../src/domain/gateway/calls.ts'
import { answerHook, type HookCall } from '../../src/domain/hook/answer.ts'
import { askingRules } from '../support/asking.ts'
import { inTemporaryDir } from '../support/process.ts'
import { callers, type MethodName, memoryProgram, openSqliteProgram } from '../support/program.ts'
import { certain, harmless, likely } from '../support/secret-texts.ts'

test('at least eighty secrets, and at least eighty harmless texts', () => {
  expect(certain.length + likely.length).toBeGreaterThanOrEqual(80)
  expect(harmless.length).toBeGreaterThanOrEqual(80)
})

test.each(certain)('refused, and masked where it is allowed: %s', (text, secret) => {
  expect(certainSecret({ decision: text })).not.toBeNull()
  expect(maskSecrets(text)).not.toContain(secret)
})

test.each(likely)('masked, and no reason to refuse: %s', (text, secret) => {
  expect(certainSecret(text) === null || text.includes('AKIA')).toBe(true)
  expect(maskSecrets(text)).not.toContain(secret)
})

test.each(harmless)('neither refused nor changed: %s', (text) => {
  expect(certainSecret(text)).toBeNull()
  expect(maskSecrets(text)).toBe(text)
})

test('a member whose name says that it is a secret is masked by what it holds', () => {
  expect(withoutSecretTexts({ context: { api_key: 'Zx81Spectrum', token: 'required', amount: 12 } })).toEqual({
    context: { api_key: '[secret]', token: 'required', amount: 12 },
  } as never)
})

test('none of them is in an answer, an error included: where it is recorded, asked, checked or misplaced', async () => {
  const program = await memoryProgram()
  const told = async (name: MethodName, params: object): Promise<string> => {
    try {
      return JSON.stringify(await program.call(name, params as never))
    } catch (error) {
      const { message, data } = error as CstpError
      return JSON.stringify({ message, data })
    }
  }
  const plan = { category: 'tooling', stakes: 'low', confidence: 0.8 }
  for (const secrets of ['reject', 'mask'] as const) {
    program.services.secrets = secrets
    for (const [text, secret] of [...certain, ...likely]) {
      const calls: [MethodName, object][] = [
        ['recordDecision', { decision: text, confidence: 0.8, category: 'tooling' }],
        ['recordDecision', { decision: 'Use it', confidence: 0.8, category: 'tooling', context: text, tags: [text] }],
        ['recordDecision', { decision: 'Use it', confidence: text, category: 'tooling', [text]: text }],
        ['preAction', { action: { ...plan, description: text } }],
        ['preAction', { action: { ...plan, description: 'Use it', context: { note: text } } }],
        ['checkGuardrails', { action: { ...plan, description: text, context: { [text]: text } } }],
        ['queryDecisions', { query: text }],
        ['queryDecisions', { query: 'it', filters: { stakes: text } }],
        ['getSessionContext', { task_description: text, format: 'markdown' }],
        ['recordThought', { text }],
        ['getDecision', { id: text }],
        ['listDecisions', { search: text, project: text }],
        ['reviewDecision', { id: text, outcome: text }],
        ['getCircuitState', { scope: text }],
      ]
      for (const [name, params] of calls) {
        const answer = await told(name, params)
        expect([name, text, answer.includes(JSON.stringify(secret).slice(1, -1)) ? answer : null]).toEqual([
          name,
          text,
          null,
        ])
      }
    }
  }
})

test('none of them is in a file that the service writes, from which exports, notices, telemetry and reports are made', () =>
  inTemporaryDir(async (dir) => {
    const program = await openSqliteProgram(dir)
    const { services, call, rules, record } = program
    services.secrets = 'mask'
    await rules(askingRules)
    const reviewed = await record({ decision: 'Use it, swordfisk' })
    const hook: HookCall = {
      ...services,
      method: 'hook',
      request_id: 'r1',
      signal: new AbortController().signal,
      mode: 'enforce',
      caller: callers.alice,
      client: 'claude-code',
      project: null,
      branch: null,
      prompts: 'text',
    }
    const gateway = { ...hook, server: 'tools', session_id: 's1' }
    const place = { session_id: 's1', cwd: null, project_dir: null, permission_mode: null }
    for (const [at, [text]] of [...certain, ...likely].entries()) {
      const given = { confidence: 0.8, category: 'tooling', context: text, tags: text.length > 64 ? [] : [text] }
      const reasons = [{ type: 'analysis', text }]
      const action = { description: text, category: 'payment', stakes: 'low', confidence: 0.8 }
      const sent = { id: `c${at}`, tool: 'run', input: { command: text, [text]: text, list: [text] }, annotations: {} }
      await Promise.all([
        call('recordDecision', { ...given, decision: text, reasons, alternatives_considered: [text] }),
        call('reviewDecision', {
          decision_id: reviewed,
          outcome: 'success',
          actual_result: text,
          lessons: text,
          notes: text,
        }),
        call('recordThought', { text }),
        call('queryDecisions', { query: text }),
        call('preAction', { action: { ...action, context: { note: text, [text]: text } } }),
        call('checkGuardrails', { action: { ...action, context: { note: text, [text]: { deep: [text] } } } }),
        judgeCall(gateway, sent).then(() => endCall(gateway, sent, { ok: at % 2 === 0, output: text, duration_ms: 1 })),
        answerHook(hook, { kind: 'prompt', place, text }),
      ])
    }
    await program.close()
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const written = Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
    expect(written.includes('swordfisk')).toBe(true)
    const forms = (secret: string) => [secret, JSON.stringify(secret).slice(1, -1)]
    expect([...certain, ...likely].filter(([, secret]) => forms(secret).some((one) => written.includes(one)))).toEqual(
      [],
    )
  }))
