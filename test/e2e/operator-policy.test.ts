/** Policy as an operator meets it: rule files checked, tested and reloaded, the trail and its replay, breakers over processes. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, startServer, testDir, testServer, until } from '../support/process.ts'

// Each test starts several processes.
setDefaultTimeout(120_000)

async function rulesIn(dir: string, files: Record<string, string>): Promise<string> {
  const folder = join(dir, 'rules')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}
const amount =
  '- { id: amount, message: too much, conditions: [{ type: field, field: context.amount, operator: ">", value: 5000, when_missing: no_match }] }\n'

describe('cstp guardrails check', () => {
  test('names what is wrong and what is suspicious, and fails on the first only', async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, { 'a.yaml': `${amount}- { id: slip, condition_confidense: 1 }\n` })
    const env = bareEnv(dir, { CSTP_PACKS: 'none' })
    const fine = await cstp(['guardrails', 'check', folder], env)
    expect(fine.status).toBe(0)
    expect(fine.out).toContain(
      `${folder}/a.yaml:2: warning: slip: confidense is looked up in the context; did you mean confidence?`,
    )
    expect(fine.out).toContain('2 rules, 0 circuit breakers, 3 warnings')
    expect(fine.out).toContain(`${folder}/a.yaml:2: note: slip: only the agent vouches for context.confidense`)
    await rulesIn(dir, { 'templates/t.yaml': '- id: t\n  acton: block\n' })
    const wrong = await cstp(['guardrails', 'check', folder], env)
    expect(wrong.status).toBe(1)
    expect(wrong.out).toContain(`${folder}/templates/t.yaml:2:3: error: unknown key acton; did you mean action?`)
    const json = JSON.parse((await cstp(['guardrails', 'check', '--json'], { ...env, GUARDRAILS_PATHS: folder })).out)
    expect(json).toMatchObject({
      rules: 2,
      errors: [{ line: 2, column: 3 }],
      findings: [{ rule: 'slip' }, {}, { kind: 'assumed_match' }],
    })
    expect(await cstp(['guardrails', 'check'], env)).toMatchObject({ status: 0 })
    const none = await cstp(['guardrails', 'check', join(dir, 'none')], env)
    expect([none.status, none.out]).toEqual([
      1,
      expect.stringContaining("none:1:1: error: can't be read: no such file"),
    ])
    expect((await cstp(['guardrails', 'chek'], env)).status).toBe(2)
  })
})

describe('cstp guardrails test', () => {
  test('runs the tables and names rules that none fires', async () => {
    const dir = await testDir()
    const table = (expected: string) =>
      `cases:\n  - { name: large, action: { description: Pay, context: { amount: 9000 } }, expect: ${expected} }\n`
    const folder = await rulesIn(dir, {
      'a.yaml': `${amount}- { id: idle, message: m, condition_stakes: critical }\n`,
      'a.test.yaml': table('block'),
      'b.yaml': '- { id: alone, message: m, condition_y: 1 }\n',
    })
    const env = bareEnv(dir)
    const held = await cstp(['guardrails', 'test', folder], env)
    expect(held.status).toBe(0)
    expect(held.out).toContain('1 of 1 cases pass\n1 of 3 rules are fired by some case')
    expect(held.out).toContain(`${folder}/a.yaml:2: idle is fired by none`)
    expect(held.out).toContain(`${folder}/b.yaml:1: alone is fired by none`)
    await rulesIn(dir, { 'a.test.yaml': table('warn') })
    const failed = await cstp(['guardrails', 'test', folder], env)
    expect(failed.status).toBe(1)
    expect(failed.out).toContain('a.test.yaml:2: failed: large: expected warn, found block; fired: amount')
    await rulesIn(dir, { 'a.test.yaml': table('warn').replace('expect', 'expects') })
    const wrong = await cstp(['guardrails', 'test', folder, '--json'], env)
    expect(wrong.status).toBe(1)
    expect(JSON.parse(wrong.out).errors.map(({ message }: { message: string }) => message)).toContain(
      'unknown key expects; did you mean expect?',
    )
  })

  test('the shipped rules hold', async () => {
    const dir = await testDir()
    const { status, out } = await cstp(['guardrails', 'test'], bareEnv(dir))
    expect(status).toBe(0)
    expect(out).not.toContain('is fired by none')
  })
})

test("the guide's rules beside the shipped ones: checked and served as one set", async () => {
  const dir = await testDir()
  const guide = await readFile(join(import.meta.dir, '../../docs/guide/guardrails.md'), 'utf8')
  const blocks = [...guide.matchAll(/```yaml rules\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const names = blocks.map((text, at) => [`${at}.yaml`, text] as const)
  const folder = await rulesIn(dir, Object.fromEntries(names))
  const { status, out } = await cstp(['guardrails', 'check', 'shipped', folder], bareEnv(dir))
  expect(status).toBe(0)
  expect(out).toMatch(/yaml:\d+: note: the circuit breaker category:deployment replaces the shipped one/)
  const checked = JSON.parse((await cstp(['guardrails', 'check', 'shipped', folder, '--json'], bareEnv(dir))).out)
  const env = { CSTP_AUTH_TOKENS: 'local:secret-of-the-test', GUARDRAILS_PATHS: `shipped:${folder}` }
  const server = await testServer({ dir, env })
  expect((await server.call('getPolicy', {})).policy_hash).toBe(checked.policy_hash)
})

describe('a server', () => {
  const env = { CSTP_AUTH_TOKENS: 'local:secret-of-the-test', CSTP_LOG_LEVEL: 'info', CSTP_PACKS: 'none' }
  const check = async (server: { call: (method: string, params: unknown) => Promise<Record<string, unknown>> }) =>
    (await server.call('checkGuardrails', { action: { description: 'Pay', context: { amount: 6000 } } })).allowed

  test('does not start with wrong files, and says which', async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, { 'a.yaml': '- id: a\n  acton: block\n' })
    const { status, err } = await cstp(['serve', '--port', '0'], { ...bareEnv(dir), GUARDRAILS_PATHS: folder })
    expect(status).toBe(1)
    expect(err).toBe(
      `cstp: The guardrail files are invalid\n  ${folder}/a.yaml:2:3: unknown key acton; did you mean action?\n`,
    )
  })

  test('reloads by command and by SIGHUP; wrong files leave the last good rules', async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, { 'a.yaml': amount })
    const server = await testServer({ dir, env: { ...env, GUARDRAILS_PATHS: folder, CSTP_PACKS: 'none' } })
    const reload = () =>
      cstp(['guardrails', 'reload', '--url', server.url, '--token', 'secret-of-the-test'], bareEnv(dir))
    expect(await check(server)).toBe(false)
    await rulesIn(dir, { 'a.yaml': amount.replace('5000', '7000') })
    expect(await check(server)).toBe(false)
    expect(await reload()).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^1 rules in force, policy [0-9a-f]{12}\n$/),
    })
    expect(await check(server)).toBe(true)
    await rulesIn(dir, { 'a.yaml': 'nonsense' })
    const wrong = await reload()
    expect(wrong.status).toBe(1)
    expect(wrong.out).toContain('a.yaml:1:1: ')
    expect(wrong.out).toContain('the last valid rules stay in force (1, policy')
    const listed = await server.call('listGuardrails', {})
    expect(listed).toMatchObject({ total: 1, errors: [{ file: 'a.yaml', line: 1 }] })
    await rulesIn(dir, { 'a.yaml': amount })
    server.process.kill('SIGHUP')
    await until('reload by signal', async () => (await check(server)) === false)
    expect((await server.call('listGuardrails', {})).errors).toEqual([])
  })

  test('two of them share one breaker, and a restart keeps it', async () => {
    const dir = await testDir()
    const breaker = `circuit_breakers: [{ scope: "category:deploy", failure_threshold: 2, window_ms: 86400000, cooldown_ms: 1500 }]`
    const folder = await rulesIn(dir, { 'a.yaml': breaker })
    const start = () => startServer({ dir, env: { ...env, GUARDRAILS_PATHS: folder } })
    const [one, two] = await Promise.all([start(), start()])
    const record = async (server: typeof one) =>
      String(
        (await server.call('recordDecision', { decision: 'Deploy', category: 'deploy', confidence: 0.9 })).decision_id,
      )
    const state = async (server: typeof one) => server.call('getCircuitState', { scope: 'category:deploy' })
    for (const [records, reviews] of [
      [one, two],
      [two, one],
    ] as const)
      await reviews.call('reviewDecision', { decision_id: await record(records), outcome: 'failure' })
    for (const server of [one, two]) expect(await state(server)).toMatchObject({ state: 'open', failure_count: 2 })
    await one.kill('SIGKILL')
    const again = await start()
    expect((await state(again)).opened_at).toBe((await state(two)).opened_at as string)
    await until('the cooldown', async () => (await state(again)).state === 'half_open')
    const probes = await Promise.all([again, two, again, two].map(record))
    const probe = String((await state(again)).probe_decision_id)
    expect(probes).toContain(probe)
    expect((await state(two)).probe_decision_id).toBe(probe)
    await two.call('reviewDecision', { decision_id: probe, outcome: 'success' })
    expect(await state(again)).toMatchObject({ state: 'closed', failure_count: 0 })
    await Promise.all([again.kill(), two.kill()])
  })
})

describe('the past', () => {
  test('rules in shadow mode: what they would have stopped, and how that turned out', async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, {
      'a.yaml': '- { id: trial, mode: shadow, message: m, condition_confidence: "< 0.5" }\n',
    })
    const server = await startServer({
      dir,
      env: { GUARDRAILS_PATHS: folder, CSTP_AUTH_TOKENS: 'local:secret-secret-secret' },
    })
    for (const [confidence, outcome] of [
      [0.2, 'failure'],
      [0.3, 'success'],
      [0.9, 'success'],
    ] as const) {
      const { decision_id } = await server.call('recordDecision', { decision: 'Do it', category: 'x', confidence })
      await server.call('reviewDecision', { decision_id, outcome })
    }
    const before = await server.call('getPolicy', {})
    await rulesIn(dir, { 'a.yaml': '- { id: trial, mode: shadow, message: m, condition_confidence: "< 0.4" }\n' })
    server.process.kill('SIGHUP')
    await until('reload', async () => (await server.call('getPolicy', {})).policy_hash !== before.policy_hash)
    const replaced = await server.call('getPolicy', { policy_hash: before.policy_hash })
    expect(replaced.in_force_until).toBe((await server.call('getPolicy', {})).in_force_from as string)
    await server.kill()
    const env = bareEnv(dir, { CSTP_LOG_LEVEL: 'error', GUARDRAILS_PATHS: folder })
    const { out, err, status } = await cstp(['guardrails', 'backtest', '--local'], env)
    expect([err, status]).toEqual(['', 0])
    expect(out).toContain('Would have stopped 2 of 3 reviewed decisions: 1 failed, 1 succeeded; failure rate 50 %')
  })

  test("a replay judges by the server's rules and lists, whatever the settings of the terminal", async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, { 'a.yaml': amount })
    const env = { CSTP_AUTH_TOKENS: 'local:secret-of-the-test', GUARDRAILS_PATHS: folder, CSTP_CATEGORIES: 'payment' }
    const server = await testServer({ dir, env })
    for (const category of ['payment', 'travel'])
      await server.call('checkGuardrails', { action: { description: 'Pay', category, context: { amount: 6000 } } })
    const replay = async (...more: string[]) => {
      const line = ['audit', 'replay', '--url', server.url, '--token', 'secret-of-the-test', '--json', ...more]
      const { out, err, status } = await cstp(line, bareEnv(join(dir, 'elsewhere')))
      expect([err, status]).toEqual(['', 0])
      return JSON.parse(out)
    }
    expect(await replay()).toMatchObject({ evaluations: 2, repeated: 2, changed: [] })
    const relaxed = join(dir, 'relaxed.yaml')
    await writeFile(relaxed, amount.replace('5000', '7000'))
    expect((await replay('--guardrails-paths', relaxed)).changed).toMatchObject([
      { before: 'block', after: 'pass', rules_before: ['amount'] },
    ])
  })

  test('audit, replay and backtest', async () => {
    const dir = await testDir()
    const folder = await rulesIn(dir, { 'a.yaml': amount })
    const env = bareEnv(dir, { CSTP_LOG_LEVEL: 'error', GUARDRAILS_PATHS: folder })
    const run = async (...args: string[]) => {
      const ended = await cstp(args, env)
      expect([args, ended.err, ended.status]).toEqual([args, '', 0])
      return ended.out
    }
    const server = await startServer({
      dir,
      env: { GUARDRAILS_PATHS: folder, CSTP_AUTH_TOKENS: 'local:secret-of-the-test,bob:other-of-the-test' },
    })
    const ask = (context: object, token = 'local:secret-of-the-test') =>
      fetch(`${server.url}/cstp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'cstp.checkGuardrails',
          params: { action: { description: 'Pay the invoice', context } },
        }),
      })
    await ask({ amount: 100 })
    await ask({ amount: 6000 }, 'bob:other-of-the-test')
    await ask({ amount: 9000, password: 'hunter22hunter22' })
    for (const [confidence, outcome] of [
      [0.2, 'failure'],
      [0.3, 'failure'],
      [0.3, 'success'],
      [0.9, 'success'],
      [0.9, 'partial'],
    ] as const) {
      const { decision_id } = await server.call('recordDecision', { decision: 'Do it', category: 'x', confidence })
      await server.call('reviewDecision', { decision_id, outcome })
    }
    await server.kill()

    const blocked = await run('audit', '--local', '--blocked')
    expect(blocked.split('\n').filter((line) => line.includes('Pay the invoice'))).toHaveLength(2)
    const bobs = (await run('audit', '--local', '--agent', 'bob', '--since', '1h', '--json')).trim().split('\n')
    expect(bobs.map((line) => JSON.parse(line))).toMatchObject([
      { agent: 'bob', method: 'cstp.checkGuardrails', allowed: false, rules: ['amount'] },
    ])
    expect(await run('audit', '--local', '--rule', 'amount', '--json', '--limit', '1')).not.toContain('hunter22')
    expect(await run('audit', '--local', '--since', '2099-01-01')).toBe('No entry matches.\n')
    const misuse = await cstp(['audit', '--since', 'yesterday'], env)
    expect([misuse.status, misuse.err]).toEqual([2, expect.stringContaining('--since needs a date')])

    expect(await run('audit', 'replay', '--local')).toContain(
      "By the rules of their time 7 of 8 verdicts are the same, byte by byte; 0 differ; 1 can't be repeated: redacted text\nBy the rules of GUARDRAILS_PATHS 0 of 8 verdicts would change; 1 depend on redacted text",
    )
    await rulesIn(dir, {
      'a.yaml': `${amount.replace('5000', '7000')}- { id: sure, action: warn, condition_confidence: "< 0.25" }\n`,
    })
    const replayed = JSON.parse(await run('audit', 'replay', '--local', '--since', '1d', '--json'))
    expect(replayed).toMatchObject({ evaluations: 8, uncertain: 1 })
    expect(replayed.changed).toMatchObject([
      { method: 'cstp.recordDecision', before: 'pass', after: 'warn', rules_after: ['sure'], uncertain: [] },
      { agent: 'bob', before: 'block', after: 'pass', rules_before: ['amount'], rules_after: [], uncertain: [] },
    ])

    const rule = join(dir, 'new.yaml')
    await writeFile(rule, '- { id: unsure, message: m, condition_confidence: "< 0.5" }\n')
    const figures = JSON.parse(await run('guardrails', 'backtest', rule, '--local', '--json'))
    expect(figures).toMatchObject({
      all: { decisions: 5, failed: 2, succeeded: 2, partial: 1 },
      stopped: { decisions: 3, failed: 2, succeeded: 1, failure_rate: 2 / 3 },
      rules: [{ id: 'unsure', action: 'block', decisions: 3 }],
      uncertain: 0,
    })
    expect(figures.stopped.failure_low).toBeCloseTo(0.2077, 4)
    expect(figures.stopped.failure_high).toBeCloseTo(0.9385, 4)
    expect(await run('guardrails', 'backtest', rule, '--local')).toContain('21 % to 94 %')
    expect(await run('guardrails', 'backtest', rule, '--local')).toContain(
      'Would have stopped 3 of 5 reviewed decisions: 2 failed, 1 succeeded; failure rate 67 %, 95 % interval 21 % to 94 %.',
    )
    const none = await cstp(['guardrails', 'backtest', '--local'], env)
    expect([none.status, none.err]).toEqual([1, expect.stringContaining('no rule in force is in shadow mode')])
    await writeFile(rule, 'nonsense')
    const wrong = await cstp(['guardrails', 'backtest', rule, '--local'], env)
    expect([wrong.status, wrong.err]).toEqual([1, expect.stringContaining('new.yaml:1:1')])
  })
})
