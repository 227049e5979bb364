/** Resources: decisions, the session context and the guardrails, for clients that attach what a person selects. */
import type { ReadResourceResult, Resource, ResourceTemplateType } from '@modelcontextprotocol/server'
import { quoted, quotedName, visibleJson } from '../../core/quote.ts'
import type { CallMethod } from './tools.ts'

const decisions = 'cstp://decisions/'
export const decisionUri = (id: string): string => `${decisions}${encodeURIComponent(id)}`

const contextUri = 'cstp://session-context'
const guardrailsUri = 'cstp://guardrails'
/** Number of newest decisions in the list; the template reaches all others. */
const newest = 50

export const templates: ResourceTemplateType[] = [
  {
    name: 'decision',
    title: 'A decision',
    uriTemplate: `${decisions}{id}`,
    description: 'The full record of a decision, by id or unique prefix of 8 or more characters.',
    mimeType: 'application/json',
  },
]

export const fixed: Resource[] = [
  {
    name: 'session-context',
    title: 'Session context',
    uri: contextUri,
    description: 'Context for the start of a session: track record, latest decisions, rules, due actions.',
    mimeType: 'text/markdown',
  },
  {
    name: 'guardrails',
    title: 'Guardrails',
    uri: guardrailsUri,
    description: 'The rules in force, and problems in their files.',
    mimeType: 'application/json',
  },
]

/** The fixed resources, then the newest decisions. @throws CstpError */
export async function listResources(call: CallMethod, signal: AbortSignal): Promise<Resource[]> {
  const params = { limit: newest, sort: 'created_at', order: 'desc' }
  const { decisions: found } = (await call('cstp.listDecisions', params, signal)) as {
    decisions: {
      id: string
      title: string
      category: string | null
      date: string
      recorded_by: string
      updated_at: string
    }[]
  }
  const listed = found.map(({ id, title, category, date, recorded_by, updated_at }) => ({
    name: id,
    title: quoted(title),
    uri: decisionUri(id),
    description: `${category === null ? 'no category' : quotedName(category)}, ${date}, by ${quotedName(recorded_by)}`,
    mimeType: 'application/json',
    annotations: { lastModified: updated_at },
  }))
  return [...fixed, ...listed]
}

/** A decision by id or prefix. @throws CstpError */
export const readDecision = (id: string, call: CallMethod, signal: AbortSignal) =>
  call('cstp.getDecision', { id }, signal) as Promise<{ id: string }>

/** The id in a decision's URI; null if it is not one. */
function idIn(uri: string): string | null {
  if (!uri.startsWith(decisions)) return null
  try {
    return decodeURIComponent(uri.slice(decisions.length)) || null
  } catch {
    return null
  }
}

/** The content of a resource; null if the URI is unknown. @throws CstpError */
export async function readResource(
  uri: string,
  call: CallMethod,
  signal: AbortSignal,
): Promise<ReadResourceResult | null> {
  const json = (value: unknown) => ({
    contents: [{ uri, mimeType: 'application/json', text: visibleJson(JSON.stringify(value)) }],
  })
  if (uri === guardrailsUri) return json(await call('cstp.listGuardrails', {}, signal))
  if (uri === contextUri) {
    const { markdown } = (await call('cstp.getSessionContext', { format: 'markdown' }, signal)) as { markdown: string }
    return { contents: [{ uri, mimeType: 'text/markdown', text: markdown }] }
  }
  const id = idIn(uri)
  return id === null ? null : json(await readDecision(id, call, signal))
}
