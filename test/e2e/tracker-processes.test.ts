/** The tracker over two processes on the same data: two agents, two scopes, a restart in the middle, failed records. */
import { expect, test } from 'bun:test'
import { type Answer, type RunningServer, startServer, testDir } from '../support/process.ts'

const agents = { ada: 'ada:token-of-ada-00001', bob: 'bob:token-of-bob-00001' }
type Agent = keyof typeof agents
const scopes = ['alpha', 'beta'] as const

const env = {
  CSTP_AUTH_TOKENS: Object.values(agents).join(','),
  CSTP_RECORD_GUARDRAILS: 'block',
}

async function rpc({ url }: RunningServer, agent: Agent, method: string, params: object): Promise<Answer> {
  const response = await fetch(`${url}/cstp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agents[agent]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 }),
  })
  return (await response.json()) as Answer
}

test('every thought ends in exactly one decision', async () => {
  const dir = await testDir()
  let [one, two] = await Promise.all([startServer({ dir, env }), startServer({ dir, env })])
  try {
    const sent: string[] = []
    const ids: string[] = []
    const record = (confidence: number) => ({ decision: 'Go on', category: 'process', stakes: 'high', confidence })
    const round = async (number: number) => {
      await Promise.all(
        (['ada', 'bob'] as const).flatMap((agent) =>
          scopes.flatMap((scope) =>
            [one, two].map(async (server, at) => {
              const text = `${agent} ${scope} ${number} ${at}`
              const { result } = await rpc(server, agent, 'recordThought', { text, tracker_scope: scope })
              expect(result).toMatchObject({ success: true, mode: 'pre-decision' })
              sent.push(text)
            }),
          ),
        ),
      )
    }
    const decide = async (agent: Agent, scope: string, server: RunningServer) => {
      const { result, error } = await rpc(server, agent, 'recordDecision', { ...record(0.9), decision_id: scope })
      expect(error).toBeUndefined()
      ids.push(result!.decision_id as string)
    }
    await round(1)
    // Blocked by the shipped rules: what was thought stays for the next one.
    const blocked = await rpc(one, 'ada', 'recordDecision', { ...record(0.1), decision_id: 'alpha' })
    expect(blocked.error?.code).toBe(-32005)
    // Both processes record for one session at once: one of them gets it.
    await Promise.all([decide('ada', 'alpha', one), decide('ada', 'alpha', two)])
    await round(2)
    await Promise.all([one.kill('SIGKILL'), two.kill()])
    ;[one, two] = await Promise.all([startServer({ dir, env }), startServer({ dir, env })])
    await round(3)
    for (const agent of ['ada', 'bob'] as const)
      await Promise.all(scopes.flatMap((scope) => [one, two].map((server) => decide(agent, scope, server))))
    const { result } = await rpc(one, 'ada', 'debugTracker', {})
    expect(result!.sessions).toEqual([])

    const taken: string[] = []
    for (const id of ids) {
      const found = (await rpc(two, 'ada', 'getDecision', { id })).result!
      const { steps = [] } = (found.deliberation ?? {}) as { steps?: { thought: string }[] }
      const owners = new Set(steps.map(({ thought }) => thought.split(' ').slice(0, 2).join(' ')))
      expect(owners.size).toBeLessThanOrEqual(1)
      for (const { thought } of steps) expect(thought).toStartWith(found.recorded_by as string)
      taken.push(...steps.map(({ thought }) => thought))
    }
    expect(sent.length).toBe(24)
    expect(taken.sort()).toEqual(sent.sort())
  } finally {
    await Promise.all([one.kill(), two.kill()])
  }
}, 120_000)
