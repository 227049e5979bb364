/** The port: connections, their limits, and an end that lets calls under way finish. */

import type { Dispatch } from '../calls/dispatch.ts'
import { auditAppended, type Services, timestamp } from '../calls/services.ts'
import { agentsOf, createAuthenticator, type Scope } from '../core/caller.ts'
import { describeError, type Log } from '../core/log.ts'
import { localCredentials } from '../core/token-file.ts'
import { protocolVersion, serviceName, version } from '../core/version.ts'
import { takeDelivery } from '../domain/evidence/github/events.ts'
import { source } from '../domain/evidence/github/parts.ts'
import {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type Page,
  type PageFile,
} from '../surfaces/dashboard-api/dashboard.ts'
import { createLogins } from '../surfaces/dashboard-api/logins.ts'
import { evidenceRoutes } from '../surfaces/http/evidence.ts'
import { type GithubOptions, githubRoute } from '../surfaces/http/github.ts'
import type { Fetch } from '../surfaces/http/http.ts'
import type { Metrics } from '../surfaces/http/metrics.ts'
import {
  createRateLimiter,
  createSharedLimiter,
  type Lease,
  type Limiter,
  type RateLimiter,
} from '../surfaces/http/rate.ts'
import type { Address, Route } from '../surfaces/http/route.ts'
import type { Settings } from './config/config.ts'
import { bundlesPlace } from './config/config.ts'

export interface ListenOptions {
  host: string
  port: number
  handle: Fetch
  /** The largest body that the surface lets anybody send. */
  largest_body_bytes: number
  log: Log
  /** Seconds after which a silent connection is closed. */
  idle_s?: number
}

export interface Listening {
  url: string
  /** Waits for calls under way, for so many milliseconds at most. */
  settled(most_ms: number): Promise<void>
  /** Closes every connection. */
  close(): Promise<void>
}

const idleSeconds = 10
const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** @throws where the address can't be had */
export function listen(options: ListenOptions): Listening {
  const { host, port, handle, largest_body_bytes, log, idle_s = idleSeconds } = options
  let underWay = 0
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_s,
    // The surface has limits of its own and answers in its own form; the runtime's stands far behind them.
    maxRequestBodySize: 4 * largest_body_bytes,
    async fetch(request, { requestIP }) {
      underWay++
      let lifted = false
      const address: Address = () => requestIP.call(server, request)?.address ?? ''
      const unhurried = () => {
        lifted = true
        server.timeout(request, 0)
      }
      try {
        const response = await handle(request, address, unhurried)
        // What was lifted stays so for the connection, which may never be used again.
        if (lifted && !isStream(response)) server.timeout(request, idle_s)
        return response
      } finally {
        underWay--
      }
    },
    error(error) {
      log('error', 'request failed', describeError(error))
      return Response.json({ error: 'internal_error', message: 'Internal error' }, { status: 500 })
    },
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    async settled(most_ms) {
      const end = Date.now() + most_ms
      while (underWay > 0 && Date.now() < end) await Bun.sleep(5)
    },
    close: () => server.stop(true),
  }
}

// What the service tells anyone: that it is well, and what it can do.

/** @param started_ms when the service started, in milliseconds since 1970 */
export const health = (started_ms: number) => ({
  status: 'ok',
  version,
  agent: serviceName,
  uptime_seconds: Math.floor((Date.now() - started_ms) / 1_000),
  timestamp: new Date().toISOString(),
})

/** The agent card. @param url where the service is reached */
export const card = (url: string) => ({
  name: serviceName,
  description: 'Decision memory for software agents: precedents, policy, calibration and evidence.',
  version,
  url,
  capabilities: [
    'queryDecisions',
    'checkGuardrails',
    'recordDecision',
    'reviewDecision',
    'getCalibration',
    'getDecision',
    'getReasonStats',
  ],
  protocol: 'cstp',
  protocolVersion,
})

// Who may call: the agents of the settings, or the one that is made at the first start.

/** @param logins failed ones of an address */
export async function openAccess(settings: Settings, logins: RateLimiter) {
  const agents = {
    credentials: settings.auth_tokens ?? (await localCredentials(settings.data_dir)),
    admins: settings.admin_agents,
    evidence: settings.evidence_agents,
  }
  const authenticate = createAuthenticator(agents)
  return { authenticate, access: { authenticate, agents: agentsOf(agents), logins } }
}

// How often an agent may call, and how often an address may fail to log in.

const failedLoginsPerMinute = 20

/** @param lease where servers share the rate of an agent */
export function createLimits({ rate_limit }: Settings, lease?: Lease): { requests: Limiter; logins: RateLimiter } {
  const now = Date.now
  const burst = Math.max(100, Math.ceil(rate_limit / 6))
  const requests = { per_minute: rate_limit, burst, now }
  return {
    requests: lease ? createSharedLimiter({ ...requests, lease }) : createRateLimiter(requests),
    logins: createRateLimiter({ per_minute: failedLoginsPerMinute, burst: failedLoginsPerMinute, now }),
  }
}

// What the server hands to anyone who watches the evidence log.

/** For each address that reads without credentials. A witness needs three a look, an auditor some more. */
const readsPerMinute = 300

export const evidencePaths = (settings: Settings, services: Services, dispatch: Dispatch): Record<string, Route> =>
  evidenceRoutes({
    dispatch,
    reads: createRateLimiter({ per_minute: readsPerMinute, burst: readsPerMinute / 3, now: Date.now }),
    trust_proxy: settings.trust_proxy,
    verifier_key: services.signer.verifier_key,
    bundle_dir: bundlesPlace(settings),
  })

// Ties GitHub's webhook to the evidence: a delivery becomes events, a line of the audit trail and a line of the log.

/** @param bots further accounts that are agents */
const deliverTo =
  (services: Services, bots: readonly string[]): GithubOptions['deliver'] =>
  async (delivery, { request_id, signal }) => {
    const taken = await takeDelivery(services.chain, delivery, bots)
    const { id: delivery_id, kind, body_sha256 } = delivery
    services.log('info', 'delivery', { request_id, agent: source, kind, delivery_id, ...taken })
    if (taken.outcome === 'ingested') {
      const { ingested, first_seq } = taken
      const caller = { agent: source, scopes: new Set<Scope>() }
      const call = { ...services, caller, method: 'POST /webhooks/github', request_id, signal }
      await auditAppended(call, [], { kind, delivery_id, body_sha256, ingested, first_seq })
    }
    return taken
  }

/** The webhook's path where the settings hold its secret. @param logins failed signatures of an address */
export function githubRoutes(
  { github_webhook_secret: secret, github_bots, trust_proxy }: Settings,
  { services, metrics }: { services: Services; metrics: Metrics },
  logins: RateLimiter,
): Record<string, Route> {
  if (secret === null) return {}
  const { log } = services
  const deliver = deliverTo(services, github_bots)
  return { '/webhooks/github': githubRoute({ secret, logins, trust_proxy, log, observe: metrics.delivery, deliver }) }
}

// Ties the dashboard to the store that knows its logins, and to the files of its pages.

function fileOf(type: string, text: string): PageFile {
  const body = new TextEncoder().encode(text)
  return { type, body, gzip: Bun.gzipSync(body, { level: 9 }) }
}

async function makePage(): Promise<Page> {
  const { bundle } = await import('./dashboard-bundle.ts')
  const { html, files } = await bundle()
  return {
    html: fileOf('text/html; charset=utf-8', html),
    files: new Map(files.map(({ name, type, text }) => [name, fileOf(type, text)])),
  }
}

/** The dashboard, where the settings want one. */
export function openDashboard(
  { dashboard, public_url, trust_proxy }: Settings,
  services: Services,
  access: Pick<DashboardOptions, 'authenticate' | 'agents' | 'logins'>,
): Dashboard | null {
  if (dashboard === 'off') return null
  const { store, now, randomHex, log } = services
  let made: Promise<Page> | null = null
  return createDashboard({
    ...access,
    sessions: createLogins({ store, now, randomHex }),
    public_url,
    trust_proxy,
    page() {
      made ??= makePage()
      return made
    },
    async told(what, agent, request_id) {
      log('info', what, { request_id, agent })
      const entry = { at: timestamp(now()), agent, method: `dashboard.${what}`, request_id, ids: [] }
      await store.transaction((tx) => tx.audit.append({ ...entry, allowed: null, rules: [], detail: null }))
    },
  })
}
