/** A day of hooks with secrets in it: none of them is in any file of the data directory. */
import { expect, test } from 'bun:test'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { testDir, testServer } from '../support/process.ts'
import * as fc from '../support/property.ts'
import { assignments, certainForms, likelyForms, secretOf } from '../support/secret-samples.ts'

const token = 'ada-t0ken-of-tests'
const rules = `
- { id: infra, action: log, record: decision, conditions: [{ type: field, field: context.command, operator: contains, value: infra }] }
- { id: release, action: step_up, message: Ask, conditions: [{ type: field, field: context.command, operator: contains, value: release, when_missing: no_match }] }
- { id: prod, action: block, message: No, conditions: [{ type: field, field: context.command, operator: contains, value: prod, when_missing: no_match }] }
`
const sessions = 40
const turns = 12
/** Of every form one after the other, in a text like those of a day. */
const seed = 7
const named = assignments.map((form) =>
  form.replaceAll('{i}', 'shop').replaceAll('{I}', 'SHOP').replaceAll('{s}', '<n32>'),
)
const forms = [...Object.values(certainForms).flat(), ...likelyForms, ...named]

test('no secret of a day of hooks is in a file of the service', async () => {
  const dir = await testDir()
  const data = join(dir, 'data')
  await writeFile(join(dir, 'rules.yaml'), rules)
  const env = {
    CSTP_AUTH_TOKENS: `ada:${token}`,
    GUARDRAILS_PATHS: dir,
    CSTP_EMBEDDER: 'hash',
    CSTP_HOOK_PROMPTS: 'text',
  }
  const server = await testServer({ dir: data, env })
  const secrets: string[] = []
  let at = 0
  const secret = () => {
    const form = forms[at++ % forms.length]!
    const [made] = fc.sample(secretOf(form), { numRuns: 1, seed: seed + at })
    const parts = form.split(/<[a-z]\d+>/)
    // The longest piece that was made up, without what shows its kind or its end.
    const pieces = [made!].flatMap((text) =>
      parts.reduce<string[]>((all, part) => all.flatMap((one) => (part === '' ? [one] : one.split(part))), [text]),
    )
    const longest = pieces.reduce((a, b) => (b.length > a.length ? b : a))
    // fast-check likes to make names such as propertyIsEnumerable, which no rule takes for a secret.
    const piece = longest.slice(0, 12)
    const isWord = Object.getOwnPropertyNames(Object.prototype).some((name) => name.includes(piece))
    if (longest.length >= 16 && !isWord) secrets.push(piece)
    return made!
  }
  let sent = 0
  const event = async (session_id: string, hook_event_name: string, body: object) => {
    const response = await fetch(`${server.url}/hooks/claude-code?project=acme/shop`, {
      method: 'POST',
      headers: { authorization: `Bearer ada:${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session_id, cwd: '/shop', hook_event_name, ...body }),
    })
    sent++
    expect([hook_event_name, response.status, response.headers.get('cstp-failed')]).toEqual([
      hook_event_name,
      200,
      null,
    ])
    await response.arrayBuffer()
  }
  const commands = [
    () => ({ tool_name: 'Bash', tool_input: { command: `git commit -m "Rotate ${secret()}"` } }),
    () => ({ tool_name: 'Bash', tool_input: { command: `./infra up ${secret()} --verbose` } }),
    () => ({ tool_name: 'Bash', tool_input: { command: `npm run release -- ${secret()}` } }),
    () => ({ tool_name: 'Bash', tool_input: { command: `deploy prod ${secret()}` } }),
    () => ({ tool_name: 'Write', tool_input: { file_path: '/shop/.env', content: `A=1\n${secret()}\nB=2\n` } }),
    // Cut in the middle of a secret.
    () => ({
      tool_name: 'Write',
      tool_input: { file_path: '/shop/a', content: `${'x '.repeat(2_030)}${secret()}` },
    }),
    () => ({ tool_name: 'mcp__x__y', tool_input: { a: `${'x '.repeat(170)}${secret()}` } }),
    () => ({ tool_name: 'mcp__jira__create_pull_request', tool_input: { body: { text: `See ${secret()}` } } }),
  ]

  const day = async (_: unknown, session: number) => {
    const id = `s${session}`
    await event(id, 'SessionStart', { source: 'startup' })
    for (let turn = 0; turn < turns; turn++) {
      await event(id, 'UserPromptSubmit', { prompt: `Sparrow: please use ${secret()} here` })
      const tool = { ...commands[(session + turn) % commands.length]!(), tool_use_id: `t${turn}` }
      await event(id, 'PreToolUse', tool)
      if (turn % 5 === 4) await event(id, 'PostToolUseFailure', { ...tool, error: `Refused: ${secret()}` })
      else await event(id, 'PostToolUse', { ...tool, tool_response: { stdout: `[main 1a2b3c4] ${secret()}` } })
      await event(id, 'Stop', { stop_hook_active: true, last_assistant_message: `I used ${secret()} as asked` })
      if (turn % 2 === 0)
        await event(id, 'PreToolUse', { tool_name: 'Read', tool_input: { file_path: `/shop/${turn}` } })
    }
    await event(id, 'SessionEnd', { reason: 'exit' })
  }
  for (let from = 0; from < sessions; from += 8)
    await Promise.all(Array.from({ length: 8 }, (_, of) => day(_, from + of)))
  await server.kill()
  expect(sent).toBeGreaterThanOrEqual(2_000)
  const paths = (await readdir(data, { recursive: true })).map((path) => join(data, path))
  let all = ''
  for (const path of paths) if ((await stat(path)).isFile()) all += await readFile(path, 'latin1')
  // What is no secret is there.
  for (const word of ['Sparrow: please use', 'Rotate', 'infra up', 'I used'])
    expect([word, all.includes(word)]).toEqual([word, true])
  const kept = secrets.filter((one) => all.includes(one))
  expect(kept).toEqual([])
  expect(secrets.length).toBeGreaterThan(1_000)
}, 120_000)
