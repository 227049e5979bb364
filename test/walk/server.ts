/** A server that answers the methods of `WALK`, for the walk. */
import { test } from 'bun:test'
import { startServing } from '../support/serving.ts'

const given: Record<string, unknown> = {
  recordDecision: {
    decision: 'Use Redis for the session cache',
    context: 'Sessions must survive a restart',
    category: 'architecture',
    stakes: 'medium',
    confidence: 0.8,
    reasons: [{ type: 'pattern', text: 'Other services cache in Redis' }],
  },
  checkGuardrails: {
    action: { description: 'Deploy the session cache', category: 'architecture', stakes: 'high', confidence: 0.4 },
  },
  queryDecisions: { query: 'where sessions are cached', retrieval_mode: 'hybrid' },
}

test('walk', async () => {
  const methods = process.env.WALK!.split(' ')
  const server = await startServing()
  for (const method of methods) await server.call(method, given[method] ?? {}, 'root')
  // What follows the calls.
  await Bun.sleep(1_000)
  await server.stop()
})
