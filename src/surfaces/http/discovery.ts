/** Public descriptions of the service: its own agent card, the A2A card, and the response at the root. */
import type { MethodTable } from '../../calls/method.ts'
import { protocolVersion, serviceName, version } from '../../core/version.ts'
import { json } from './route.ts'

const description = 'Decision memory for software agents: precedents, policy, calibration and evidence.'

/** Methods listed in both cards. */
const capabilities = [
  'queryDecisions',
  'checkGuardrails',
  'recordDecision',
  'reviewDecision',
  'getCalibration',
  'getDecision',
  'getReasonStats',
]

/** `/.well-known/agent.json`. @param url address of the service */
export const agentCard = (url: string) => ({
  name: serviceName,
  description,
  version,
  url,
  capabilities,
  protocol: 'cstp',
  protocolVersion,
})

const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/**
 * `/.well-known/agent-card.json`. The interfaces have their own binding names: none is an A2A binding, which would accept A2A's messages
 * and tasks.
 * @see A2A 1.0, message AgentCard
 */
export const a2aCard = (url: string, methods: MethodTable) => ({
  name: serviceName,
  description,
  version,
  supportedInterfaces: [
    { url: `${url}/mcp`, protocolBinding: 'MCP', protocolVersion: '1.0' },
    { url: `${url}/cstp`, protocolBinding: 'CSTP', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: false, pushNotifications: false },
  securitySchemes: {
    bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'Authorization: Bearer <agent>:<token>' } },
  },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: capabilities.map((id) => ({
    id,
    name: words(id),
    description: methods.get(`cstp.${id}`)!.summary,
    tags: words(id).split(' '),
  })),
})

/** `/`: browsers are redirected to the dashboard, if there is one; other clients get a list of the paths. */
export function answerRoot(request: Request, dashboard: boolean): Response {
  const headers = { vary: 'Accept', 'cache-control': 'no-cache' }
  if (dashboard && /\btext\/html\b/i.test(request.headers.get('accept') ?? ''))
    return new Response(null, { status: 302, headers: { ...headers, location: '/dashboard' } })
  const response = json({
    service: serviceName,
    version,
    rpc: '/cstp',
    mcp: '/mcp',
    health: '/health',
    card: '/.well-known/agent-card.json',
    ...(dashboard && { dashboard: '/dashboard' }),
  })
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
