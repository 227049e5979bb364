/** Prompts: the decision protocol, and the review of a decision. */
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server'
import { protocolText, reviewText } from './instructions.ts'
import { decisionUri, readDecision } from './resources.ts'
import type { CallMethod } from './tools.ts'

export const prompts: Prompt[] = [
  {
    name: 'decision_protocol',
    title: 'Decide with precedents',
    description: 'Makes a decision step by step: precedents, alternatives, guardrails, record.',
    arguments: [{ name: 'task', description: 'What is to be decided.', required: false }],
  },
  {
    name: 'review',
    title: 'Review a decision',
    description: 'Finds out what became of a decision and records it; without an id, of all that are due.',
    arguments: [{ name: 'id', description: 'The decision: its id, or 8 characters of its hex part.', required: false }],
  },
]

const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })

/** The prompt's messages; null where there is none of that name. @throws CstpError where the decision can't be read */
export async function getPrompt(
  name: string,
  given: Record<string, string>,
  call: CallMethod,
  signal: AbortSignal,
): Promise<GetPromptResult | null> {
  const found = prompts.find((one) => one.name === name)
  if (!found) return null
  const description = found.description!
  if (name === 'decision_protocol') return { description, messages: [user(protocolText(given.task?.trim()))] }
  const id = given.id?.trim()
  if (!id) return { description, messages: [user(reviewText(false))] }
  const record = await readDecision(id, call, signal)
  return {
    description,
    messages: [
      user(reviewText(true)),
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: { uri: decisionUri(record.id), mimeType: 'application/json', text: JSON.stringify(record) },
        },
      },
    ],
  }
}
