/** cstp record obeys the rules, unless a person says --anyway. */
import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, inTemporaryDir } from '../support/process.ts'

const rule = `- id: no-guess
  action: block
  condition_confidence: "< 0.5"
  message: That is a guess
  suggestion: Find out more
`

test('cstp record refuses what a rule blocks and names the way out; --anyway records it with the violation', () =>
  inTemporaryDir(async (dir) => {
    const rules = join(dir, 'rules')
    await mkdir(rules)
    await writeFile(join(rules, 'rules.yaml'), rule)
    const env = bareEnv(join(dir, 'data'), { GUARDRAILS_PATHS: rules, CSTP_PACKS: 'none' })
    const record = (...more: string[]) =>
      cstp(['record', 'Try it', '--category', 'process', '--confidence', '0.2', '--local', ...more], env)
    expect(await record()).toEqual({
      status: 1,
      out: '',
      err: 'cstp: Blocked by no-guess (-32005)\n  no-guess: That is a guess → Find out more\n',
    })
    const listed = async () => JSON.parse((await cstp(['call', 'listDecisions', '--local'], env)).out).decisions
    expect(await listed()).toEqual([])
    const anyway = await record('--anyway')
    expect(anyway.status).toBe(0)
    expect(anyway.out).toContain('\nagainst no-guess: That is a guess\n')
    const [{ id }] = await listed()
    const { verdict } = JSON.parse((await cstp(['call', 'getDecision', `id=${id}`, '--local'], env)).out)
    expect(verdict).toMatchObject({ allowed: false, rules: ['no-guess'] })
  }))
