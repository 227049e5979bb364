/** The surfaces of one program: what answers a request once it is known whose workspace it is for. */
import type { Dispatch } from '../calls/dispatch.ts'
import type { Services } from '../calls/services.ts'
import type { Caller } from '../core/caller.ts'
import type { Log } from '../core/log.ts'
import type { Observer } from '../core/observed.ts'
import { listPins } from '../domain/gateway/pins.ts'
import { enact } from '../domain/policy/judge/archive.ts'
import { indexState } from '../domain/search/search.ts'
import { methods } from '../methods/table.ts'
import type { Dashboard } from '../surfaces/dashboard-api/dashboard.ts'
import { a2aCard, agentCard, answerRoot } from '../surfaces/http/discovery.ts'
import { createFetch, type Fetch, largestBody } from '../surfaces/http/http.ts'
import type { Metrics } from '../surfaces/http/metrics.ts'
import { hostsOf, type Route } from '../surfaces/http/route.ts'
import { createMcp } from '../surfaces/mcp/http.ts'
import type { Settings } from './config/config.ts'
import { askedRarely } from './drivers.ts'
import { openGatewayRoute } from './gateway-route.ts'
import { type Access, createRoutes, health, type Limits } from './routes.ts'

/** How long a readiness check waits for the index counts; without them it answers anyway. */
const countWaitMs = 500

/** What a surface needs of its program. */
export interface Surfaced {
  services: Services
  dispatch: Dispatch
  metrics: Metrics
  observer: Observer
  /** Whether the store can be written to now. */
  reachable(): Promise<boolean>
}

/** What the surfaces of all programs of this process share. */
export interface SharedByAll {
  /** Address of the service. */
  url(): string
  newRequestId(): string
  /** False while the server stops. */
  ready(): boolean
  stopping: AbortSignal
  /** Start time of the service, in milliseconds since 1970. */
  started: number
}

interface SurfaceOptions extends SharedByAll {
  settings: Settings
  access: Access
  limits: Limits
  dashboard: Dashboard | null
  /** Further paths. */
  routes?: Record<string, Route>
  /** Further metrics, for this caller. */
  more?(caller: Caller): string
  log: Log
}

export interface Surface {
  fetch: Fetch
  largest_body_bytes: number
  /** Ends sessions and streams. */
  close(): Promise<void>
}

export async function openSurface(program: Surfaced, options: SurfaceOptions): Promise<Surface> {
  const { services, dispatch, observer, metrics, reachable } = program
  const { settings, access, limits, dashboard, url, newRequestId, ready, stopping, started, log } = options
  const { cors_origins, max_body_bytes, trust_proxy } = settings
  await enact(services.store, await services.policy.current(), services.now())
  const mcp = createMcp({ dispatch, newRequestId, cors_origins, stopping, log, issuer: access.issuer })
  const gateway = openGatewayRoute(settings, services, { newRequestId, stopping, observer })
  const http = {
    dispatch,
    ...access,
    ...limits,
    ...{ cors_origins, max_body_bytes, trust_proxy },
    hosts: hostsOf(settings),
    newRequestId,
    ready,
    reachable,
    index: askedRarely(() => indexState(services.index, countWaitMs / 2), null, countWaitMs),
    health: () => health(started),
    root: (request: Request) => answerRoot(request, settings.dashboard === 'on'),
    agentCard: () => agentCard(url()),
    a2aCard: () => a2aCard(url(), methods),
    metrics: async (caller: Caller) => ({
      text:
        (await metrics.render({
          ...services,
          pins: () => listPins(services.store.keyed, { server: null, waiting: true }),
        })) + (options.more?.(caller) ?? ''),
      content_type: metrics.content_type,
    }),
    routes: {
      ...createRoutes({
        ...{ settings, services, dispatch, metrics, guesses: limits.guesses, access, dashboard, url },
        observe: observer.ended,
        mcp: mcp.route,
        gateway: gateway.route,
      }),
      ...options.routes,
    },
    stopping,
  }
  return {
    fetch: createFetch(http),
    largest_body_bytes: largestBody(http),
    close: async () => void (await Promise.all([mcp.close(), gateway.close()])),
  }
}
