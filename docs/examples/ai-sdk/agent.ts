/** An AI SDK agent that queries precedents, has each tool call checked, and records its decision. `CSTP_TOKEN=… bun agent.ts` */
import { createClient } from '@cstp/client'
import { toolApproval } from '@cstp/client/ai'
import { generateText, isStepCount, tool } from 'ai'
import * as z from 'zod'
// A scripted model, so that this runs without an API key: replace it by yours.
import { model } from './model.ts'

const client = createClient({
  url: process.env.CSTP_URL ?? 'http://127.0.0.1:9991',
  agent: process.env.CSTP_AGENT ?? 'local',
  token: process.env.CSTP_TOKEN ?? '',
})
const task = 'Customers report that the checkout is slow. Find out why, and fix it.'

// 1. Query earlier decisions about this task.
const { decisions, precedent } = await client.queryDecisions({ query: task, retrieval_mode: 'hybrid', limit: 3 })
const precedents =
  precedent === 'none' ? [] : decisions.map(({ title, outcome }) => `- "${title}" (${outcome ?? 'pending'})`)

// 2. Every tool call is checked before it runs; the model gets the reason if one is denied.
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

// 3. The decision is recorded with its inputs, and reviewed when the result is known.
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
