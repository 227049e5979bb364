/** The server's paths: the handler of each, who may call it, and its rate limit. */
import type { Dispatch } from '../calls/dispatch.ts'
import type { Services } from '../calls/services.ts'
import { attributed, auditAppended } from '../core/audit.ts'
import { createAuthenticator, type Scope } from '../core/caller.ts'
import type { Log } from '../core/log.ts'
import type { Observe } from '../core/observed.ts'
import { openSignatures, type Signatures } from '../core/signed.ts'
import { timestamp } from '../core/time.ts'
import { ownCredentials } from '../core/token-file.ts'
import { serviceName, version } from '../core/version.ts'
import { takeDelivery } from '../domain/ledger/evidence/github/events.ts'
import { openQuota } from '../domain/ledger/quota.ts'
import { source } from '../domain/policy/facts/reviews.ts'
import {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type Page,
  type PageFile,
} from '../surfaces/dashboard-api/dashboard.ts'
import { createLogins } from '../surfaces/dashboard-api/logins.ts'
import type { PersonIssuer } from '../surfaces/dashboard-api/person.ts'
import { type Answers, createAnswers } from '../surfaces/http/answers.ts'
import { type Issuer, metadataRoutes } from '../surfaces/http/bearer.ts'
import { evidenceRoutes } from '../surfaces/http/evidence.ts'
import { type GithubOptions, githubRoute } from '../surfaces/http/github.ts'
import { hooksRoute } from '../surfaces/http/hooks.ts'
import { logRoutes } from '../surfaces/http/ledger.ts'
import {
  type Bodies,
  createBodies,
  createGuesses,
  createRateLimiter,
  createSharedLimiter,
  type Guesses,
  type Lease,
  type Limiter,
} from '../surfaces/http/limits.ts'
import type { Metrics } from '../surfaces/http/metrics.ts'
import type { Route } from '../surfaces/http/route.ts'
import { authzenRoutes } from '../surfaces/policy/authzen.ts'
import { opaRoutes } from '../surfaces/policy/opa.ts'
import { bundlesPlace, grantsOf, type Settings } from './config/config.ts'
import { hookAnswers } from './hooks.ts'
import { changedSince } from './init/changed.ts'
import { later } from './lifecycle.ts'
import { openIssuer } from './oidc/issuer.ts'
import { filesOfLog } from './publisher.ts'
import { followTokens } from './tokens.ts'

const failedLoginsPerMinute = 20
/** Reads of the evidence log without credentials, per address: a witness needs three a visit, an auditor more. */
const readsPerMinute = 300
/** Reads of the thread, per address: a tile has 256 hashes, and reading the whole thread takes one tile after the other. */
const tilesPerMinute = 6_000

export interface Limits {
  /** Limits the calls of each agent. */
  requests: Limiter
  guesses: Guesses
  bodies: Bodies
  answers: Answers
}
export type Access = Pick<DashboardOptions, 'authenticate' | 'agents'> & {
  signatures: Signatures
  issuer?: Issuer
  people?: PersonIssuer
  /** The person behind a dashboard cookie; null if there is no session. */
  session?: Dashboard['caller']
  /** Gives out the code of a login. */
  offer?: Dashboard['offer']
}

/** @param lease given if servers share an agent's rate limit */
export function limitOfRequests({ rate_limit }: Settings, lease?: Lease): Limiter {
  const burst = Math.min(rate_limit, Math.max(100, Math.ceil(rate_limit / 6)))
  const requests = { per_minute: rate_limit, burst, now: Date.now }
  return lease ? createSharedLimiter({ ...requests, lease }) : createRateLimiter(requests)
}

/** @param lease given if servers share an agent's rate limit */
export function createLimits(
  settings: Settings,
  log: Log,
  metrics: Pick<Metrics, 'authFailure'>,
  lease?: Lease,
): Limits {
  const failures = { per_minute: failedLoginsPerMinute, burst: failedLoginsPerMinute, now: Date.now }
  return {
    requests: limitOfRequests(settings, lease),
    guesses: createGuesses({ limiter: createRateLimiter(failures), log, observe: metrics.authFailure }),
    bodies: createBodies(settings.body_bytes_in_flight),
    answers: createAnswers(settings.body_bytes_in_flight, later),
  }
}

/** The agents of all workspaces that may call: those of the settings, or those created at the first start; and those of `cstp token create`. */
export async function openAccess(settings: Settings, url: () => string, log: Log): Promise<Access> {
  const { data_dir, store_url, auth_tokens } = settings
  // Servers that share a database don't share the files of their data directories.
  const fixed = auth_tokens ?? (store_url === null ? await ownCredentials(data_dir) : [])
  const elapsed = () => performance.now()
  const agents = followTokens({ data_dir, fixed, grants: grantsOf(settings), log, now: Date.now, elapsed })
  const issuers = openIssuer(settings, url, agents, log)
  return {
    authenticate: createAuthenticator(agents),
    signatures: openSignatures(agents, Date.now),
    agents,
    ...issuers,
  }
}

interface RoutesOptions {
  settings: Settings
  services: Services
  dispatch: Dispatch
  metrics: Metrics
  /** Notified of each call of a hook. */
  observe: Observe
  guesses: Guesses
  access: Access
  mcp: Route
  gateway: Route
  /** Null if it is off, or not of this workspace. */
  dashboard: Dashboard | null
  /** Address of the service. */
  url(): string
}

/**
 * All paths that `surfaces/http/http.ts` does not answer itself: a new path is a line here. A path that ends with a slash also serves
 * everything below it.
 */
export function createRoutes(options: RoutesOptions): Record<string, Route> {
  const { settings, services, dispatch, guesses, mcp, gateway, dashboard } = options
  const { trust_proxy } = settings
  const reads = createRateLimiter({ per_minute: readsPerMinute, burst: readsPerMinute / 3, now: Date.now })
  const tileReads = createRateLimiter({ per_minute: tilesPerMinute, burst: tilesPerMinute / 3, now: Date.now })
  const verifier_key = services.signer.verifier_key
  return {
    '/mcp': mcp,
    ...(Object.keys(settings.gateway).length > 0 && { '/gateway': gateway, '/gateway/': gateway }),
    ...(options.access.issuer && metadataRoutes(options.access.issuer)),
    ...evidenceRoutes({ dispatch, reads, trust_proxy, verifier_key, bundle_dir: bundlesPlace(settings) }),
    ...logRoutes(filesOfLog(services), { reads: tileReads, trust_proxy }),
    ...authzenRoutes(options),
    ...opaRoutes(options),
    '/hooks/': hooksRoute(
      hookAnswers(services, settings.hook_prompts, options.observe, (cwd) => changedSince(settings.data_dir, cwd)),
    ),
    ...(settings.github_webhook_secret !== null && {
      '/webhooks/github': githubRoute({
        secret: settings.github_webhook_secret,
        guesses,
        trust_proxy,
        log: services.log,
        observe: options.metrics.delivery,
        deliver: deliverTo(services, settings.github_bots),
      }),
    }),
    ...dashboard?.routes,
    ...(options.access.offer && { '/dashboard/code': options.access.offer }),
  }
}

/** Reports each call, and writes a log line without parameters and result. */
export const logging =
  (observe: Observe, log: Log): Observe =>
  (call) => {
    observe(call)
    const { request_id, agent, method, duration_ms, code } = call
    log('info', 'call', {
      request_id,
      agent,
      // An unknown method's name is arbitrary text.
      method: method.slice(0, 64),
      duration_ms: Math.round(duration_ms * 1_000) / 1_000,
      code,
    })
  }

/** `/health`. @param started_ms start time of the service, in milliseconds since 1970 */
export const health = (started_ms: number) => ({
  status: 'ok',
  version,
  agent: serviceName,
  uptime_seconds: Math.floor((Date.now() - started_ms) / 1_000),
  timestamp: new Date().toISOString(),
})

/**
 * Turns a GitHub delivery into evidence events, an audit entry and a log line. They count towards the byte quota of their source.
 * @param bots further accounts to treat as agents
 */
export function deliverTo(services: Services, bots: readonly string[]): GithubOptions['deliver'] {
  const quota = openQuota(services)
  const { store, chain } = quota.of(source)
  return async (delivery, { request_id, signal }) => {
    await quota.require(source)
    const taken = await takeDelivery(chain, delivery, bots)
    const { id: delivery_id, kind, body_sha256 } = delivery
    services.log('info', 'delivery', { request_id, agent: source, kind, delivery_id, ...taken })
    if (taken.outcome === 'ingested') {
      const { ingested, first_seq } = taken
      const caller = { agent: source, scopes: new Set<Scope>() }
      const call = { ...services, store, caller, method: 'POST /webhooks/github', request_id, signal }
      await auditAppended(call, [], { kind, delivery_id, body_sha256, ingested, first_seq })
    }
    return taken
  }
}

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

/** @param workspaces whose audit trails have the logins of their people */
export function openDashboard(
  {
    settings,
    services,
    access,
    guesses,
    url,
  }: Pick<RoutesOptions, 'settings' | 'services' | 'access' | 'guesses'> & {
    url(): string
  },
  workspaces: { has(name: string): boolean; servicesOf(name: string): Promise<Services> },
): Dashboard {
  const { store, now, randomHex } = services
  let made: Promise<Page> | null = null
  return createDashboard({
    authenticate: access.authenticate,
    agents: access.agents,
    ...(access.people && { people: { issuer: access.people, url, newId: () => randomHex(32) } }),
    guesses,
    sessions: createLogins({ store, now, randomHex }),
    public_url: settings.public_url,
    trust_proxy: settings.trust_proxy,
    has: workspaces.has,
    page() {
      made ??= makePage()
      return made
    },
    async audit(what, caller, request_id) {
      const { agent, workspace } = caller
      const { store, log } = workspace === undefined ? services : await workspaces.servicesOf(workspace)
      log('info', what, { request_id, agent })
      const entry = { at: timestamp(now()), agent, method: `dashboard.${what}`, request_id, ids: [] }
      await attributed(store, caller).transaction((tx) =>
        tx.append({ audit: [{ ...entry, allowed: null, rules: [], detail: null }] }),
      )
    },
  })
}
