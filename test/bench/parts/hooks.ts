/** Hooks of an agent's client over HTTP, durable lines included: the one that every call of a tool waits for, and a day of an agent. */

import { type Bench, token } from '../bench.ts'
import { inTurn, readFigures } from '../calls.ts'
import { requestBytes } from '../client.ts'
import { isOk } from '../load.ts'
import type { Child } from '../process.ts'
import { rowOf } from '../report.ts'

const part = 'hooks'
const perDay = 2_000
const commands = ['ls -la', 'npm test', 'git status', 'rg -n retry src', 'cat README.md', 'git commit -m "Small step"']

/** Bodies of a day: sessions of forty calls, each before and after, with a prompt for every ten and the end of its turn. */
export function dayOf(count: number): object[] {
  const bodies: object[] = []
  for (let at = 0; bodies.length < count; at++) {
    const place = { session_id: `bench-${Math.floor(at / 40)}`, cwd: '/srv/shop', permission_mode: 'default' }
    if (at % 40 === 0) bodies.push({ ...place, hook_event_name: 'SessionStart', source: 'startup' })
    if (at % 10 === 0)
      bodies.push({
        ...place,
        hook_event_name: 'UserPromptSubmit',
        prompt: `Fix fault number ${at} of the order service`,
      })
    const command = commands[at % commands.length]
    const call = { ...place, tool_name: 'Bash', tool_input: { command }, tool_use_id: `toolu_${at}` }
    bodies.push({ ...call, hook_event_name: 'PreToolUse' })
    bodies.push({
      ...call,
      hook_event_name: 'PostToolUse',
      tool_response: { stdout: 'x'.repeat(2_000) },
      duration_ms: 40,
    })
    if (at % 10 === 9) bodies.push({ ...place, hook_event_name: 'Stop', stop_hook_active: true })
    if (at % 40 === 39) bodies.push({ ...place, hook_event_name: 'SessionEnd', reason: 'exit' })
  }
  return bodies.slice(0, count)
}

const sent = ({ port }: Child, body: object): Uint8Array =>
  requestBytes({ host: `127.0.0.1:${port}`, path: '/hooks/claude-code', token, body: JSON.stringify(body) })

export async function hooks(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const child = await bench.server(await bench.seeded(size))
    const day = dayOf(perDay)
    const before = day.filter((body) => (body as { hook_event_name: string }).hook_event_name === 'PreToolUse')
    const rows = [
      ['PreToolUse', before],
      [`a day of ${perDay} hooks`, day],
    ] as const
    for (const [what, bodies] of rows) {
      const next = inTurn(bodies.map((body) => sent(child, body)))
      bench.add(rowOf(part, what, { size, ...(await readFigures(child, next, isOk, 8)) }))
    }
    await child.stop()
  }
}
