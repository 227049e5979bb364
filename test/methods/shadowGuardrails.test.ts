/** cstp.shadowGuardrails: a draft becomes a file of rules in shadow mode, and nothing that is in force changes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inShadowMode, shadow } from '../../src/domain/policy/trial/shadow-file.ts'
import { compileDraft, openPolicy } from '../../src/policy/files.ts'
import { temporaryDir } from '../support/process.ts'
import { forEachBackend } from '../support/program.ts'
import * as fc from '../support/property.ts'

let dir: string
let made = 0
beforeAll(async () => {
  dir = await temporaryDir('cstp-shadow-')
})
afterAll(() => rm(dir, { recursive: true, force: true }))

const rule = (id: string, more = '') =>
  `# Why it is tried\n- { id: ${id}, message: Be sure, action: block, condition_stakes: high${more} }\n`

/** A folder with one rule, and the real policy over it. */
async function folder(places = (own: string) => [own]) {
  const own = join(dir, String(made++))
  await mkdir(own)
  await writeFile(join(own, 'own.yaml'), '- { id: own, message: m, action: block, condition_stakes: critical }')
  const policy = await openPolicy(
    places(own),
    Object.assign(() => {}, { flush() {} }),
    Date.now,
    async () => {},
  )
  return { own, policy }
}

forEachBackend((open) => {
  test('a draft is in shadow mode at once: it stops nothing, and the trail keeps what it would stop', async () => {
    const program = await open()
    const { own, policy } = await folder()
    Object.assign(program.services.policy, policy)
    const before = (await policy.current()).hash
    const result = await program.call('shadowGuardrails', { rules: rule('sure') }, 'root')
    expect(result).toEqual({
      success: true,
      file: 'shadow-sure.yaml',
      rules: ['sure'],
      yaml: await readFile(join(own, 'shadow-sure.yaml'), 'utf8'),
      policy_hash: (await policy.current()).hash,
      errors: [],
      read_only: false,
    })
    expect(result.policy_hash).not.toBe(before)
    const text = await readFile(join(own, 'shadow-sure.yaml'), 'utf8')
    expect(text).toContain('# Why it is tried')
    expect(text).toContain('mode: shadow')
    expect((await readdir(own)).sort()).toEqual(['own.yaml', 'shadow-sure.yaml'])
    const action = { description: 'Drop it', stakes: 'high' }
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: true, would_block: ['sure'] })
    const { entries } = await program.call('listAudit', { method: 'cstp.shadowGuardrails' }, 'root')
    expect(entries.map(({ detail }) => detail)).toEqual([
      { policy_hash: result.policy_hash, file: 'shadow-sure.yaml', rules: ['sure'], errors: 0 },
    ])
  })
})

test.each<[string, string, string]>([
  ['a rule of its folder', rule('own'), 'the rule own is in force already (own.yaml:1)'],
  ['a rule of the program, which it would replace', rule('no-high-stakes-low-confidence'), 'in force already'],
  [
    'a circuit breaker',
    'circuit_breakers: [{ scope: global, failure_threshold: 3, window_ms: 1000, cooldown_ms: 1000 }]\n',
    'there is no rule in it',
  ],
  [
    'a breaker beside a rule',
    `guardrails:\n  - { id: a, message: m, action: block, condition_stakes: high }\ncircuit_breakers: [{ scope: global, failure_threshold: 3, window_ms: 1000, cooldown_ms: 1000 }]\n`,
    'a breaker has no shadow mode',
  ],
  ['rules of a template', 'template: secrets\nguardrails: []\n', 'would be in force'],
  ['what does not load', '- { id: a, action: explode, message: m }', 'action'],
  ['nothing', '# nothing\n', 'there is no rule in it'],
])('%s is refused, and nothing is written', async (_, yaml, message) => {
  const { own, policy } = await folder((own) => ['shipped', own])
  const before = await policy.current()
  const { file, rules, errors } = await shadow(policy, before, yaml)
  expect([file, rules]).toEqual([null, []])
  expect(errors.map((error) => error.message).join()).toContain(message)
  expect(await readdir(own)).toEqual(['own.yaml'])
  expect((await policy.current()).hash).toBe(before.hash)
})

test('files that are invalid, and a file of the same name, keep a draft out', async () => {
  const { own, policy } = await folder()
  await writeFile(join(own, 'shadow-a.yaml'), '# kept')
  expect(await policy.add('shadow-a.yaml', rule('a'))).toMatchObject({
    file: null,
    errors: [{ file: 'shadow-a.yaml' }],
  })
  expect(await readFile(join(own, 'shadow-a.yaml'), 'utf8')).toBe('# kept')
  // What makes the whole set invalid is taken away again.
  const { errors } = await policy.add('shadow-b.yaml', rule('own'))
  expect(errors).toMatchObject([{ message: expect.stringContaining('already declared') }])
  expect((await readdir(own)).sort()).toEqual(['own.yaml', 'shadow-a.yaml'])
  expect(await policy.reload()).toEqual([])
  await writeFile(join(own, 'broken.yaml'), '- nonsense')
  expect((await policy.add('shadow-c.yaml', rule('c'))).errors).not.toEqual([])
  expect((await readdir(own)).sort()).toEqual(['broken.yaml', 'own.yaml', 'shadow-a.yaml'])
})

test('without a folder that can be written nothing is written, and nothing is wrong', async () => {
  const { policy } = await folder((own) => ['shipped', join(own, 'own.yaml')])
  expect(await policy.add('shadow-a.yaml', rule('a'))).toEqual({ file: null, errors: [] })
  // The text to add by hand is in the answer.
  expect(await shadow(policy, await policy.current(), rule('a'))).toMatchObject({
    file: null,
    rules: [],
    errors: [],
    yaml: expect.stringContaining('mode: shadow'),
  })
  if (process.getuid?.() === 0) return
  const { own, policy: other } = await folder()
  await chmod(own, 0o555)
  expect(await other.add('shadow-a.yaml', rule('a'))).toEqual({ file: null, errors: [] })
})

test('every rule of a draft is in shadow mode, whatever it said', async () => {
  const mode = fc.constantFrom('', ', mode: enforce', ', mode: shadow')
  await fc.assert(
    fc.asyncProperty(fc.array(mode, { minLength: 1, maxLength: 4 }), fc.boolean(), async (modes, bare) => {
      const rules = modes.map((one, at) => `{ id: r${at}, message: m, action: block, condition_stakes: high${one} }`)
      const list = rules.map((one) => `- ${one}`).join('\n')
      const yaml = bare ? list : `guardrails:\n${list}`
      const given = await compileDraft({ name: 'a.yaml', text: yaml })
      if (!given.set) return
      const { set } = await compileDraft({ name: 'a.yaml', text: inShadowMode(yaml) })
      expect(set!.rules.map((one) => [one.rule.id, one.rule.mode])).toEqual(
        rules.map((_, at) => [`r${at}`, 'shadow'] as never),
      )
    }),
  )
})
