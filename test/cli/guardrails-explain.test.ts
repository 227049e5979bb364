/** cstp guardrails explain and new: what is understood of a command, which rule stops it and what to do instead; a first file of rules that works. */
import { expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, cstpCommand, inTemporaryDir } from '../support/process.ts'

const explained = async (dir: string, command: string, more: Record<string, string> = {}) => {
  const ended = await cstp(['guardrails', 'explain', command, '--json'], bareEnv(dir, more))
  return { ...ended, json: JSON.parse(ended.out) }
}

test('explain shows what runs, the rule that stops it and what to do instead, and exits with 1', () =>
  inTemporaryDir(async (dir) => {
    const { status, json } = await explained(dir, 'sudo sh -c "git push --force"')
    expect(status).toBe(1)
    expect(json).toMatchObject({
      allowed: false,
      programs: [
        { program: 'sudo' },
        { program: 'sh', code_from: 'text' },
        { program: 'git', args: ['push'], flags: ['-f', '--force'], via: ['sudo', 'sh -c'] },
      ],
      rules: [{ guardrail_id: 'irreversible.forced-push', suggestion: expect.stringContaining('--force-with-lease') }],
    })
    expect((await explained(dir, 'git push -f origin main')).json).toMatchObject({
      allowed: true,
      verdict: 'modify',
      instead: 'git push --force-with-lease origin main',
    })
    const text = await cstp(['guardrails', 'explain', 'rm -rf ~'], bareEnv(dir))
    expect(text.status).toBe(1)
    expect(text.out).toMatch(/^It runs:\n {2}rm /)
    expect(text.out).toContain('Instead: ')
  }))

test('explain runs nothing, allows what is only mentioned, and says what it can’t read', () =>
  inTemporaryDir(async (dir) => {
    const file = join(dir, 'made')
    expect(await explained(dir, `touch ${file}; echo "rm -rf /"`)).toMatchObject({
      status: 0,
      json: { allowed: true, rules: [] },
    })
    expect(await readFile(file).catch(() => null)).toBeNull()
    const { json } = await explained(dir, '$PROGRAM --now')
    expect(json.opaque).toEqual(['the name of a program is only known at run time'])
  }))

test('explain takes the packs of the settings, and the rules in the data folder', () =>
  inTemporaryDir(async (dir) => {
    const command = 'kubectl delete namespace shop'
    expect((await explained(dir, command)).json.allowed).toBe(true)
    expect((await explained(dir, command, { CSTP_PACKS: 'irreversible,kubernetes' })).json.allowed).toBe(false)
    await mkdir(join(dir, 'guardrails'))
    await writeFile(
      join(dir, 'guardrails/own.yaml'),
      'guardrails:\n  - { id: own, action: block, message: Not here, conditions: [{ type: command, program: kubectl }] }\n',
    )
    expect((await explained(dir, command)).json.rules).toMatchObject([{ guardrail_id: 'own' }])
  }))

test('new writes a first file of rules whose own tests pass, and never over a file', () =>
  inTemporaryDir(async (dir) => {
    const folder = join(dir, 'rules')
    const made = await cstp(['guardrails', 'new', folder, '--json'], bareEnv(dir))
    expect(JSON.parse(made.out)).toEqual({ rules: join(folder, 'rules.yaml'), tests: join(folder, 'rules.test.yaml') })
    expect(await cstp(['guardrails', 'test', folder], bareEnv(dir))).toMatchObject({ status: 0 })
    expect(await cstp(['guardrails', 'check', folder], bareEnv(dir))).toMatchObject({ status: 0 })
    await writeFile(join(folder, 'rules.yaml'), '# mine\n')
    const again = await cstp(['guardrails', 'new', folder], bareEnv(dir))
    expect(again).toMatchObject({ status: 1, err: expect.stringContaining('there is a file') })
    expect(await readFile(join(folder, 'rules.yaml'), 'utf8')).toBe('# mine\n')
  }))

test('without a path, new writes to the data folder, whose rules test and explain read', () =>
  inTemporaryDir(async (dir) => {
    const env = bareEnv(dir)
    const made = await cstp(['guardrails', 'new'], env)
    expect([made.status, made.out]).toEqual([0, expect.stringContaining(`wrote ${join(dir, 'guardrails/rules.yaml')}`)])
    expect(made.out).not.toContain('GUARDRAILS_PATHS')
    const tested = JSON.parse((await cstp(['guardrails', 'test', '--json'], env)).out)
    expect(tested.tables.map(({ file }: { file: string }) => file)).toContain(join(dir, 'guardrails/rules.test.yaml'))
  }))

test('new in a repository writes a rule that it may have, which is in force at once', () =>
  inTemporaryDir(async (dir) => {
    await mkdir(join(dir, '.git'))
    const run = (...args: string[]) =>
      cstp(['guardrails', ...args], bareEnv(join(dir, 'data')), undefined, { command: cstpCommand, cwd: dir })
    expect((await run('new', '.cstp/guardrails')).out).toContain('calls of tools in this repository are judged by it')
    expect(await run('test', '.cstp/guardrails')).toMatchObject({ status: 0 })
    const { status, out } = await run('explain', 'sudo npm publish')
    expect([status, out]).toEqual([1, expect.stringContaining('project/no-publish')])
    expect(out).not.toContain('not applied')
  }))

test('explain in a repository names its own rule, and says what is not applied', () =>
  inTemporaryDir(async (dir) => {
    const app = join(dir, 'app')
    await mkdir(join(app, '.git'), { recursive: true })
    await mkdir(join(app, '.cstp/guardrails'), { recursive: true })
    const own = join(app, '.cstp/guardrails/own.yaml')
    const explain = async () => {
      const args = ['guardrails', 'explain', 'npm publish', '--json']
      return JSON.parse((await cstp(args, bareEnv(dir), undefined, { command: cstpCommand, cwd: app })).out)
    }
    await writeFile(own, '- { id: own, message: Not here, conditions: [{ type: command, program: npm }] }\n')
    expect(await explain()).toMatchObject({
      allowed: false,
      verdict: 'deny',
      rules: [{ guardrail_id: 'project/own', message: 'Not here' }],
    })
    await writeFile(own, '- { id: own, action: log, conditions: [{ type: command, program: npm }] }\n')
    expect(await explain()).toMatchObject({
      allowed: true,
      opaque: [expect.stringContaining('.cstp/guardrails is not applied: own.yaml:1')],
    })
  }))
