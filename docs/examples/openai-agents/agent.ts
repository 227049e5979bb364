/** An OpenAI Agents SDK agent whose payments are checked: small ones are allowed, large ones wait for a person. `CSTP_TOKEN=… bun agent.ts` */
import { createClient } from '@cstp/client'
import { guardTool } from '@cstp/client/openai-agents'
import { Agent, type AgentInputItem, type Model, Runner, tool, Usage } from '@openai/agents'
import * as z from 'zod'

const client = createClient({
  url: process.env.CSTP_URL ?? 'http://127.0.0.1:9991',
  agent: process.env.CSTP_AGENT ?? 'local',
  token: process.env.CSTP_TOKEN ?? '',
})

const pay = tool({
  name: 'pay',
  description: 'Pays an invoice',
  parameters: z.object({ invoice: z.string(), amount: z.number() }),
  execute: async ({ invoice }) => `${invoice} is paid`,
  ...guardTool('pay', { client, action: () => ({ category: 'payment' }) }),
})

/** A scripted model, so that this runs without an API key: omit `model` to use a real one. */
const scripted = (amount: number): Model => ({
  async getResponse({ input }) {
    const items = input as AgentInputItem[]
    const result = items.find((item) => item.type === 'function_call_result')
    const call = { type: 'function_call', callId: 'c1', name: 'pay', status: 'completed' } as const
    const content = [
      {
        type: 'output_text' as const,
        text: `The tool said: ${JSON.stringify(result && 'output' in result ? result.output : null)}`,
      },
    ]
    return {
      usage: new Usage(),
      output: result
        ? [{ type: 'message', role: 'assistant', status: 'completed', content }]
        : [{ ...call, arguments: JSON.stringify({ invoice: '4711', amount }) }],
    }
  },
  getStreamedResponse() {
    throw new Error('not used here')
  },
})

const runner = new Runner({ tracingDisabled: true })
for (const amount of [120, 9_000]) {
  const agent = new Agent({
    name: 'Accountant',
    instructions: 'Pay what is due.',
    model: scripted(amount),
    tools: [pay],
  })
  const result = await runner.run(agent, 'Pay invoice 4711')
  console.log(amount, result.interruptions.length > 0 ? 'waits for a person' : result.finalOutput)
}
