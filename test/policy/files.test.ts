/** Guardrail files on disk: which are read, the five minutes, and the last good set. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { remembered } from '../../src/core/remembered.ts'
import { checkRules } from '../../src/policy/check.ts'
import { openPolicy, PolicyError, readPolicy, shipped } from '../../src/policy/files.ts'
import { testRules } from '../../src/policy/tables.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-policy-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const rule = (id: string) => `- { id: ${id}, condition_x: 1 }\n`
const put = async (path: string, text: string) => {
  await mkdir(join(dir, path, '..'), { recursive: true })
  await writeFile(join(dir, path), text)
}
const idsOf = async (...dirs: string[]) => {
  const { set, errors } = await readPolicy(dirs)
  expect(errors).toEqual([])
  return set!.rules.map((one) => one.rule.id)
}

const enact = async () => {}

function log() {
  const lines: [string, string, unknown][] = []
  return Object.assign((...line: [string, string, unknown?]) => void lines.push([line[0], line[1], line[2]]), {
    flush() {},
    lines,
  })
}

describe('directories', () => {
  test('files directly in them, in the order of their names; tests, templates and controls are no rules', async () => {
    await put('b.yml', rule('b'))
    await put('a.yaml', rule('a'))
    await put('a.test.yaml', 'cases: nonsense')
    await put('b.test.yml', '[')
    await put('notes.txt', '[')
    await put('templates/t.yaml', '[')
    await put('controls/c.yaml', '[')
    await put('sub.yaml/inner.yaml', '[')
    expect(await idsOf(dir)).toEqual(['a', 'b'])
  })

  test('files that many workspaces read are parsed once, and again when they have changed', async () => {
    await put('a.yaml', rule('a'))
    const [one, two] = [(await readPolicy([dir])).set!.rules[0]!, (await readPolicy([dir])).set!.rules[0]!]
    expect(one.rule).toBe(two.rule)
    await put('a.yaml', `# changed\n${rule('a')}`)
    expect((await readPolicy([dir])).set!.rules[0]!.rule).toMatchObject({ id: 'a', line: 2 })
    const made: string[] = []
    const twice = remembered((text: string) => {
      made.push(text)
      return [text]
    }, 2)
    expect([...'abacab'].map((text) => twice(text)[0])).toEqual([...'abacab'])
    expect(made.join('')).toBe('abcb')
  })

  test('templates where they are named: beside the file, else the shipped ones', async () => {
    await put('a.yaml', 'template: [own, secrets]\nguardrails:\n  - { id: a, condition_x: 1 }')
    await put('templates/own.yaml', rule('own'))
    const ids = await idsOf(dir)
    expect(ids.slice(0, 2)).toEqual(['a', 'own'])
    expect(ids).toContain('no-secret-exposed')
    await put('templates/secrets.yaml', rule('mine'))
    expect(await idsOf(dir)).toEqual(['a', 'own', 'mine'])
    await put('b.yaml', 'template: own')
    expect(await idsOf(dir)).toEqual(['a', 'own', 'mine'])
  })

  test('several, and one that is not there', async () => {
    await put('one/a.yaml', rule('a'))
    await put('two/a.yaml', rule('b'))
    expect(await idsOf(join(dir, 'one'), join(dir, 'two'))).toEqual(['a', 'b'])
    const { set, errors } = await readPolicy([join(dir, 'one'), join(dir, 'gone')])
    expect(set).toBeNull()
    expect(errors).toMatchObject([{ file: join(dir, 'gone'), message: "can't be read: no such file or directory" }])
  })

  test('a template that cannot be read is an error like any other', async () => {
    await put('a.yaml', 'template: own')
    await mkdir(join(dir, 'templates/own.yaml'), { recursive: true })
    expect((await readPolicy([dir])).errors.length).toBe(1)
  })
})

describe('the shipped rules beside others', () => {
  const breaker = (threshold: number) =>
    `circuit_breakers: [{ scope: "category:deployment", failure_threshold: ${threshold}, window_ms: 9, cooldown_ms: 9 }]\n`
  const thresholds = async (...places: string[]) =>
    (await readPolicy(places))
      .set!.breakers.filter(({ scope }) => scope === 'category:deployment')
      .map(({ failure_threshold }) => failure_threshold)

  test('a rule or breaker of a file replaces the shipped one of its name, in whatever order they are read', async () => {
    await put('a.yaml', `guardrails:\n  ${rule('no-high-stakes-low-confidence')}${breaker(77)}`)
    const [before, after] = [await readPolicy([shipped, dir]), await readPolicy([dir, shipped])]
    expect([before.errors, after.errors]).toEqual([[], []])
    expect(before.set!.hash).toBe(after.set!.hash)
    const one = before.set!.rules.filter(({ rule: { id } }) => id === 'no-high-stakes-low-confidence')
    expect(one.map(({ rule: { file } }) => file)).toEqual([join(dir, 'a.yaml')])
    expect(before.set!.rules.length).toBe((await readPolicy([shipped])).set!.rules.length)
    expect(await thresholds(shipped, dir)).toEqual([77])
    expect(before.replaced).toEqual([
      { what: 'the rule no-high-stakes-low-confidence', file: join(dir, 'a.yaml'), line: 2 },
      { what: 'the circuit breaker category:deployment', file: join(dir, 'a.yaml'), line: 3 },
    ])
  })

  test('one rule of a shipped template too; two files of an operator never replace each other, and both are named', async () => {
    await put('a.yaml', `template: secrets\nguardrails:\n  ${rule('no-secret-exposed')}${breaker(1)}`)
    expect((await readPolicy([dir])).replaced.map(({ what }) => what)).toEqual(['the rule no-secret-exposed'])
    await put('b.yaml', `${breaker(2)}`)
    const { set, errors } = await readPolicy([shipped, dir])
    expect(set).toBeNull()
    expect(errors).toMatchObject([
      {
        file: join(dir, 'b.yaml'),
        line: 1,
        message: 'the circuit breaker category:deployment is already declared in a.yaml:4',
      },
    ])
  })

  test('the log of a start names what is replaced, and a directory that protects nothing', async () => {
    await put('own/a.yaml', `guardrails:\n  ${rule('no-high-stakes-low-confidence')}`)
    await put('empty/notes.txt', '')
    const said = async (...places: string[]) => {
      const lines = log()
      await openPolicy(places, lines, () => 0, enact)
      return lines.lines.map(([level, message]) => `${level}: ${message}`)
    }
    expect(await said(shipped)).toEqual([])
    expect(await said(shipped, join(dir, 'own'))).toEqual([
      'info: the rule no-high-stakes-low-confidence replaces the shipped one',
    ])
    expect(await said(join(dir, 'empty'))).toEqual([
      'warn: no rule files in a directory of GUARDRAILS_PATHS',
      'warn: no guardrails are in force: everything is allowed',
    ])
    expect((await checkRules([join(dir, 'empty')])).empty).toEqual([join(dir, 'empty')])
    const prompts = { categories: null, environments: null, hook_prompts: 'digest' } as const
    await put(
      'asks/a.yaml',
      `- { id: a, action: log, condition_session.request: contains x }
- { id: b, action: log, conditions: [{ type: cel, expression: "action.session.request == 'x'" }] }
- { id: c, action: log, condition_session.actions: contains request }`,
    )
    expect((await checkRules([join(dir, 'asks')], prompts)).untold).toEqual(['a', 'b'])
    expect((await checkRules([join(dir, 'asks')])).untold).toEqual([])
  })

  test('what is checked is what a server loads: files, directories and the shipped rules together', async () => {
    await put('one/a.yaml', rule('a'))
    await put('b.yaml', rule('b'))
    const places = [shipped, join(dir, 'one'), join(dir, 'b.yaml')]
    const lists = { categories: ['payment'], environments: null }
    const policy = await openPolicy(places, log(), () => 0, enact, lists)
    const { policy_hash, errors } = await checkRules(places, lists)
    expect([policy_hash, errors]).toEqual([(await policy.current()).hash, []])
  })

  test('a table of several files, and of the shipped rules beside them', async () => {
    await put('a.yaml', rule('a'))
    await put('more/b.yaml', rule('b'))
    const one = (name: string, action: string, fires: string) =>
      `  - { name: ${name}, action: { description: d, ${action} }, expect: block, fires: [${fires}] }\n`
    await put(
      'all.test.yaml',
      `rules: [shipped, a.yaml, more/b.yaml]\ncases:\n${one('both', 'context: { x: 1 }', 'a, b')}${one(
        'shipped',
        'stakes: high, confidence: 0.1, context: { x: 2 }',
        'no-high-stakes-low-confidence',
      )}`,
    )
    const { tables, errors, rules, covered } = await testRules([dir], 0)
    expect(errors).toEqual([])
    expect(tables.flatMap(({ cases }) => cases.map(({ problem }) => problem))).toEqual([null, null])
    expect([rules, covered]).toEqual([2, 2])
  })
})

describe('in force', () => {
  const fiveMinutes = 300_000

  test('no start with wrong files', async () => {
    await put('a.yaml', '- id: a\n  conditon_x: 1\n')
    const error = await openPolicy([dir], log(), () => 0, enact).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(PolicyError)
    expect((error as PolicyError).problems).toEqual([
      `${join(dir, 'a.yaml')}:2:3: unknown key conditon_x; did you mean condition_x?`,
    ])
  })

  test('until two seconds after a file changes, and not a moment longer', async () => {
    await put('a.yaml', rule('a'))
    let now = 0
    const policy = await openPolicy([dir], log(), () => now, enact)
    const ids = async () => (await policy.current()).rules.map((one) => one.rule.id)
    await put('a.yaml', rule('b'))
    now = 1_999
    expect(await ids()).toEqual(['a'])
    now = 2_000
    expect(await Promise.all([ids(), ids(), ids()])).toEqual([['b'], ['b'], ['b']])
    await put('a.yaml', rule('c'))
    now = 3_999
    expect(await ids()).toEqual(['b'])
    expect(await policy.reload()).toEqual([])
    expect(await ids()).toEqual(['c'])
    await rm(join(dir, 'a.yaml'))
    now += 2_000
    expect(await ids()).toEqual([])
  })

  test('with the files in the folder guardrails of the data folder, as soon as there is one', async () => {
    const data_dir = join(dir, 'data')
    await put('a.yaml', rule('a'))
    let now = 0
    const lines = log()
    const lists = { categories: null, environments: null, data_dir }
    const policy = await openPolicy([join(dir, 'a.yaml')], lines, () => now, enact, lists)
    const ids = async () => (await policy.current()).rules.map((one) => one.rule.id)
    expect([await ids(), lines.lines]).toEqual([['a'], []])
    await put('data/guardrails/own.yaml', rule('own'))
    now += 2_000
    expect(await ids()).toEqual(['a', 'own'])
    expect((await checkRules([join(dir, 'a.yaml')], lists)).policy_hash).toBe((await policy.current()).hash)
    await rm(join(data_dir, 'guardrails'), { recursive: true })
    now += 2_000
    expect(await ids()).toEqual(['a'])
  })

  test('wrong files leave the last good set, and say so', async () => {
    await put('a.yaml', rule('a'))
    const lines = log()
    let now = 0
    const policy = await openPolicy([dir], lines, () => now, enact)
    const { hash } = await policy.current()
    await put('a.yaml', '- { id: a }')
    await put('b.yaml', rule('b'))
    now = fiveMinutes
    expect((await policy.current()).hash).toBe(hash)
    expect(policy.errors()).toMatchObject([{ line: 1, message: 'rule a: has neither conditions nor requirements' }])
    expect(lines.lines[0]).toMatchObject([
      'error',
      'guardrail files are invalid; the last valid rules stay in force',
      {},
    ])
    await rm(dir, { recursive: true })
    expect((await policy.reload()).length).toBe(1)
    expect((await policy.current()).hash).toBe(hash)
    await put('b.yaml', rule('b'))
    expect(await policy.reload()).toEqual([])
    expect(policy.errors()).toEqual([])
    expect((await policy.current()).rules.map((one) => one.rule.id)).toEqual(['b'])
  })

  test('rules that cannot be archived do not come into force; the next read tries again', async () => {
    await put('a.yaml', rule('a'))
    let archive: () => Promise<void> = () => Promise.reject(new Error('the store is unavailable'))
    const policy = await openPolicy(
      [dir],
      log(),
      () => 0,
      () => archive(),
    )
    const ids = async () => (await policy.current()).rules.map((one) => one.rule.id)
    await put('a.yaml', rule('b'))
    await expect(policy.reload()).rejects.toThrow('the store is unavailable')
    expect(await ids()).toEqual(['a'])
    archive = async () => {}
    expect(await policy.reload()).toEqual([])
    expect(await ids()).toEqual(['b'])
  })

  test('a requested reload reads the current files', async () => {
    await put('a.yaml', rule('a'))
    const policy = await openPolicy([dir], log(), () => 0, enact)
    const first = policy.reload()
    await put('a.yaml', rule('b'))
    const second = policy.reload()
    await Promise.all([first, second])
    expect((await policy.current()).rules.map((one) => one.rule.id)).toEqual(['b'])
  })
})

test('closed lists of the settings are rules in front of those in files, also after a reload', async () => {
  await put('a.yaml', rule('a'))
  const lists = { categories: ['payment'], environments: null }
  const policy = await openPolicy([dir], log(), () => 0, enact, lists)
  const ids = async () => (await policy.current()).rules.map((one) => one.rule.id)
  expect(await ids()).toEqual(['unknown_category', 'no_category', 'a'])
  await put('b.yaml', rule('b'))
  expect(await policy.reload()).toEqual([])
  expect(await ids()).toEqual(['unknown_category', 'no_category', 'a', 'b'])
  await put('b.yaml', rule('unknown_category'))
  expect(await policy.reload()).toMatchObject([
    { message: 'the rule unknown_category is already declared in settings:1' },
  ])
})
