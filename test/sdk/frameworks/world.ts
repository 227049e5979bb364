/** What the adapters are tested in: a server with rules, a client, tools that remember their calls, and the packages of frameworks. */
import { createClient } from '../../../sdk/client.ts'
import type { GuardOptions } from '../../../sdk/frameworks/guard.ts'
import { openRuled, type Ruled } from '../../support/ruled.ts'
import { tokens } from '../../support/serving.ts'

/** Claude Code puts the server of a tool in front of its name. */
const rules = `
- id: no-shell
  message: No shell here
  suggestion: Use the editor
  conditions:
    - { type: field, field: category, operator: "=", value: tool_use }
    - { type: field, field: context.tool, operator: in, value: [shell, mcp__t__shell] }
- id: large-payment
  action: step_up
  message: A large payment needs a person
  conditions:
    - { type: field, field: context.tool, operator: in, value: [pay, mcp__t__pay] }
    - { type: field, field: context.input.amount, operator: ">", value: 5000 }
- id: mail-inside
  action: modify
  message: Mail stays inside
  conditions:
    - { type: field, field: context.tool, operator: in, value: [mail, mcp__t__mail] }
    - { type: field, field: context.input.to, operator: "!=", value: team@example.test }
  modify: { set: { context.input.to: team@example.test } }
- id: quiet-post
  action: modify
  message: Posts carry their origin, and no copies
  conditions:
    - { type: field, field: context.tool, operator: "=", value: post }
  modify: { set: { context.input.from.name: agent, stakes: high }, remove: [context.input.bcc] }
- id: other-tool
  action: modify
  message: Use the cache
  conditions:
    - { type: field, field: context.tool, operator: "=", value: browse }
  modify: { set: { context.tool: cache } }
`

export interface World extends Ruled {
  client: GuardOptions['client']
  /** Answers the approval that a call waits for, as a person. */
  answer(decision: 'approve' | 'deny', call: Called): Promise<void>
  /** What the rules saw last. */
  seen(): Promise<{ description: string; category: string; context: { tool: string; input: unknown } }>
}

const clientAt = (url: string): GuardOptions['client'] =>
  createClient({ url, agent: 'ada', token: tokens.ada.split(':')[1]!, retry: false })

/** A client of a service that is not there. */
export const away = clientAt('http://127.0.0.1:1')

export async function openWorld(): Promise<World> {
  const ruled = await openRuled(rules, { CSTP_RATE_LIMIT: '0' })
  return {
    ...ruled,
    client: clientAt(ruled.server.url),
    async answer(decision, { input }) {
      const { approvals } = await ruled.server.call('listApprovals', { state: 'pending' }, 'root')
      const waiting = approvals as { id: string; action: { context: { input: unknown } } }[]
      const { id } = waiting.find(({ action }) => Bun.deepEquals(action.context.input, input))!
      await ruled.server.call('decideApproval', { id, decision, reason: 'looked at it' }, 'root')
    },
    async seen() {
      const [{ detail }] = (await ruled.trail()) as [{ detail: { input: never } }]
      return detail.input
    },
  }
}

/** What the model of a test calls, once. */
export interface Called {
  tool: 'shell' | 'read' | 'pay' | 'mail'
  input: Record<string, unknown>
}
export const calls = {
  allowed: { tool: 'read', input: { path: 'notes.md' } },
  denied: { tool: 'shell', input: { command: 'rm -r /' } },
  held: { tool: 'pay', input: { amount: 6000, to: 'ACME' } },
  changed: { tool: 'mail', input: { to: 'press@example.com', text: 'Hello' } },
} as const satisfies Record<string, Called>

/** Where the packages of frameworks are that weigh too much to be installed with the project. */
export const folder = process.env.CSTP_FRAMEWORKS ?? ''

/** Where a module of a framework is that is installed beside the project, or null; says so if it is not. */
export function frameworkAt(name: string): string | null {
  try {
    if (folder !== '') return Bun.resolveSync(name, folder)
  } catch {
    // Not installed: said below.
  }
  console.warn(`${name} is not in CSTP_FRAMEWORKS (.ci/run installs it there): its tests are skipped`)
  return null
}
