/**
 * Leads the person at the client to the page of an approval, by an elicitation in URL mode if the client declares support for it. Never by
 * a form: what comes back through the client could be the model's answer, so an approval is answered on the page only.
 */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  type Server,
  type ServerContext,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server'

interface Waiting {
  id: string
  url: string
}

/** The approval that a result waits for; null if it waits for none. */
function waitingIn({ structuredContent }: CallToolResult): Waiting | null {
  const approval = (structuredContent as { approval?: unknown } | undefined)?.approval
  if (approval === null || typeof approval !== 'object') return null
  const { id, url, state } = approval as Record<string, unknown>
  return state === 'pending' && typeof id === 'string' && typeof url === 'string' ? { id, url } : null
}

/**
 * The result of a tool, or the request to open the page first. A repeated call gets its result whatever the person did, since the rules are
 * evaluated again.
 * @param asked approvals already shown on this connection; its client is asked once for each
 * @throws UrlElicitationRequiredError for clients of protocol revisions before 2026-07-28
 */
export function orElicit(
  result: CallToolResult,
  server: Server,
  { mcpReq }: ServerContext,
  asked: Set<string>,
): CallToolResult | InputRequiredResult {
  const waiting = waitingIn(result)
  if (waiting === null || mcpReq.inputResponses !== undefined) return result
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined
  const modern = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  const { elicitation } = modern ?? server.getClientCapabilities() ?? {}
  if (!elicitation?.url || asked.has(waiting.id)) return result
  const { id, url } = waiting
  const message = `Approval ${id} is needed. Open the page to see what is asked for, and to decide it.`
  if (modern) return inputRequired({ inputRequests: { approval: inputRequired.elicitUrl({ url, message }) } })
  asked.add(id)
  throw new UrlElicitationRequiredError([{ mode: 'url', elicitationId: id, url, message }], message)
}
