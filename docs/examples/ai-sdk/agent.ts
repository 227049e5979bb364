/** An agent of the AI SDK that knows its precedents, is checked at each call of a tool, and records what it decided. `CSTP_TOKEN=… bun agent.ts` */
import { createClient } from '@cstp/client'
import { toolApproval } from '@cstp/client/ai'
import { generateText, isStepCount, tool } from 'ai'
import * as z from 'zod'
// A model that follows a script, so that this runs without a key: put yours in its place.
import { model } from './model.ts'

const client = createClient({
  url: process.env.CSTP_URL ?? 'http://127.0.0.1:9991',
  agent: process.env.CSTP_AGENT ?? 'local',
  token: process.env.CSTP_TOKEN ?? '',
})
const task = 'Customers report that the checkout is slow. Find out why, and fix it.'

// 1. What was decided before about this?
const { decisions, no_precedent } = await client.queryDecisions({ query: task, retrieval_mode: 'hybrid', limit: 3 })
const precedents = no_precedent ? [] : decisions.map(({ title, outcome }) => `- "${title}" (${outcome ?? 'pending'})`)

// 2. Every call of a tool is checked before it runs; the model is told why one may not.
const tools = {
  read_log: tool({
    description: 'Reads the log of a service',
    inputSchema: z.object({ service: z.string() }),
    execute: async ({ service }) => `${service}: 40 connections of 40 are busy`,
  }),
  restart: tool({
    description: 'Restarts a service',
    inputSchema: z.object({ service: z.string() }),
    execute: async ({ service }) => `${service} is up again`,
  }),
}
const { text, steps } = await generateText({
  model,
  system: `You operate a shop. What was decided before:\n${precedents.join('\n') || '- nothing like it'}`,
  prompt: task,
  tools,
  toolApproval: toolApproval({
    client,
    action: ({ tool }) => (tool === 'restart' ? { context: { environment: 'production' } } : {}),
  }),
  stopWhen: isStepCount(6),
})
for (const { toolCalls } of steps)
  for (const { toolName, input } of toolCalls) console.log(toolName, JSON.stringify(input))
console.log(text)

// 3. What it decided is recorded, with what it looked at, and reviewed when the result is known.
const { decision_id } = await client.recordDecision({
  decision: text,
  category: 'operations',
  confidence: 0.7,
  context: task,
  tags: ['checkout'],
  reasons: [{ type: 'analysis', text: 'All connections of the pool were busy' }],
})
const { deliberation } = await client.getDecision({ id: decision_id })
console.log(`recorded, with ${deliberation?.inputs.length ?? 0} inputs`)
await client.reviewDecision({ decision_id, outcome: 'success', actual_result: 'The checkout answers within 200 ms' })
