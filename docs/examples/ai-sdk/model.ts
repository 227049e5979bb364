/** A model without a provider: it reads the log, tries to restart the service, and proposes an alternative when the restart is denied. */
import { MockLanguageModelV4 } from 'ai/test'

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
const script = [
  { toolCallId: 'c1', toolName: 'read_log', input: '{"service":"checkout"}' },
  { toolCallId: 'c2', toolName: 'restart', input: '{"service":"checkout"}' },
]

export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const answered = prompt.filter(({ role }) => role === 'tool').length
    const next = script[answered]
    return {
      content: next
        ? [{ type: 'tool-call' as const, ...next }]
        : [{ type: 'text' as const, text: 'Raise the connection pool of the checkout from 40 to 80' }],
      finishReason: { unified: next ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
      usage,
      warnings: [],
    }
  },
})
