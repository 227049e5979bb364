/** cstp guardrails shadow: a file of rules on this machine becomes rules in shadow mode on a server. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, startServer, testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

const token = 'secret-of-the-test'
const rule = '- { id: sure, message: Be sure, action: block, condition_stakes: high }\n'

test('puts rules in shadow mode once, and says why nothing was written', async () => {
  const dir = await testDir()
  const [folder, file] = [join(dir, 'rules'), join(dir, 'new.yaml')]
  await mkdir(folder)
  await writeFile(file, rule)
  const start = (paths: string) =>
    startServer({ dir, env: { CSTP_AUTH_TOKENS: `local:${token}`, GUARDRAILS_PATHS: paths } })
  const server = await start(folder)
  const shadow = (url: string, ...args: string[]) =>
    cstp(['guardrails', 'shadow', ...args, '--url', url, '--token', token], bareEnv(dir))
  expect(await shadow(server.url, file)).toEqual({
    status: 0,
    out: 'in shadow mode: sure (shadow-sure.yaml)\n',
    err: '',
  })
  expect(await readFile(join(folder, 'shadow-sure.yaml'), 'utf8')).toContain('mode: shadow')
  const action = { description: 'Drop it', stakes: 'high' }
  expect(await server.call('checkGuardrails', { action })).toMatchObject({ allowed: true, would_block: ['sure'] })

  expect(await shadow(server.url, file)).toMatchObject({
    status: 1,
    out: 'draft.yaml:1:3: the rule sure is in force already (shadow-sure.yaml:1)\nnothing was written\n',
  })
  const json = await shadow(server.url, file, '--json')
  expect([json.status, JSON.parse(json.out)]).toMatchObject([1, { success: false, file: null, read_only: false }])
  expect(await readdir(folder)).toEqual(['shadow-sure.yaml'])
  expect(await shadow(server.url, join(dir, 'none.yaml'))).toMatchObject({
    status: 1,
    err: expect.stringContaining('none.yaml'),
  })
  await server.kill()

  const single = await start(file)
  await writeFile(file, rule.replace('sure', 'other'))
  expect(await shadow(single.url, file)).toMatchObject({
    status: 1,
    out: expect.stringContaining('no place of GUARDRAILS_PATHS is a folder that the server may write'),
  })
  await single.kill()
})
