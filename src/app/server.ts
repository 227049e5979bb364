/**
 * The composition root: opens the drivers that the settings name, builds what handlers get, and serves. The only place where settings
 * become things; read it first to see the whole system.
 */
import { mkdir } from 'node:fs/promises'
import { createDispatch, type Dispatch, discover } from '../calls/dispatch.ts'
import type { Services } from '../calls/services.ts'
import { describeError, type Log } from '../core/log.ts'
import { version } from '../core/version.ts'
import { startTracker } from '../domain/deliberation/tracker.ts'
import { startOutbox } from '../domain/search/outbox.ts'
import { analyse } from '../domain/search/terms.ts'
import { methods } from '../methods/table.ts'
import { openPolicy } from '../policy/files.ts'
import { createFetch, largestBody } from '../surfaces/http/http.ts'
import { createMetrics, type Metrics } from '../surfaces/http/metrics.ts'
import { hostsOf } from '../surfaces/mcp/guests.ts'
import { createMcp } from '../surfaces/mcp/http.ts'
import { refuseUnfinished } from './backup/files.ts'
import type { Settings } from './config/config.ts'
import { metered, openEmbedder, openEvidence, openIndex, openStore, type Shared } from './drivers.ts'
import { openNotary } from './evidence.ts'
import { closing, folderInside, folderOfDecisions, later, observing } from './lifecycle.ts'
import {
  card,
  createLimits,
  evidencePaths,
  githubRoutes,
  health,
  type Listening,
  listen,
  openAccess,
  openDashboard,
} from './routes.ts'

/** How long a record waits for its vectors before they are left to the outbox. */
const embedWaitMs = 2_000
/** How long calls under way may take when the server stops. */
const drainMs = 10_000

/** node:crypto's would ask the system each time. */
const randomHex = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

export interface Program {
  services: Services
  dispatch: Dispatch
  metrics: Metrics
  /** Where other servers work on the same database. */
  shared: Shared | undefined
  /** Rejects when what loads beside the first calls can't; never resolves. */
  failure: Promise<never>
  close(): Promise<void>
}

/** Opens everything behind the methods. Used by the server, and by the command line when it works on a data directory itself. */
export async function openProgram(settings: Settings, log: Log, overrides: Partial<Services> = {}): Promise<Program> {
  const { data_dir } = settings
  await mkdir(data_dir, { recursive: true, mode: 0o700 })
  refuseUnfinished(data_dir)
  const { keep, close } = closing(log)
  const { promise: failure, reject: fail } = Promise.withResolvers<never>()
  // Whoever serves waits for it; a command that ends first need not hear of it.
  failure.catch(() => {})
  try {
    const now = overrides.now ?? Date.now
    const metrics = createMetrics(version, new Set([...methods.keys(), discover]))
    const opening = [
      openStore(settings, { analyse, now, log }).then(keep),
      openEmbedder(settings, log, fail).then(keep),
      openEvidence(settings, log).then(keep),
    ] as const
    // What opens after another one has failed is to be closed too.
    await Promise.allSettled(opening)
    const [{ store, shared }, bare, { evidence, chain }] = await Promise.all(opening)
    const embedder = metered(bare, metrics)
    const index = keep(await openIndex(settings, store, embedder.id, log))
    const outbox = keep(
      startOutbox({
        store,
        embedder,
        now,
        after: later,
        failed: (id, attempts, error) =>
          log('warn', 'vectors could not be made; they are tried again', { id, attempts, ...describeError(error) }),
      }),
    )
    const notary = await openNotary(settings, evidence, now)
    const policy = await openPolicy(settings.guardrails_paths, log, now)
    const tracker = keep(
      startTracker({
        store,
        now,
        newId: () => randomHex(8),
        ttl_ms: settings.tracker_ttl_minutes * 60_000,
        after: later,
        failed: (error) => log('warn', 'deliberation could not be kept yet; it is tried again', describeError(error)),
      }),
    )
    const services: Services = {
      tracker,
      tracker_ttl_ms: settings.tracker_ttl_minutes * 60_000,
      policy,
      record_guardrails: settings.record_guardrails,
      elapsed: () => performance.now(),
      store,
      index,
      embedder,
      evidence,
      chain,
      ...notary,
      service_version: version,
      breathe: () => Bun.sleep(0),
      outbox,
      log,
      now,
      randomHex,
      embed_wait_ms: embedWaitMs,
      folderInside: async (path) => (settings.store_url ? folderOfDecisions(path) : folderInside(data_dir, path)),
      reindexProgress: metrics.reindex,
      ...overrides,
    }
    const dispatch = createDispatch(methods, services, observing(metrics, log))
    return { services, dispatch, metrics, shared, failure, close }
  } catch (error) {
    await close()
    throw error
  }
}

export interface Serving {
  url: string
  /** Reads the guardrail files anew; what is wrong with them is logged. */
  reload(): Promise<void>
  /** Rejects when what loads beside the first calls can't; the service is to be stopped then. */
  failure: Promise<never>
  /** Stops taking calls, lets those under way end, and closes everything. */
  stop(): Promise<void>
}

/** Starts the service. Resolves when it answers. */
export async function serve(settings: Settings, log: Log): Promise<Serving> {
  const program = await openProgram(settings, log)
  try {
    return await serveProgram(program, settings, log)
  } catch (error) {
    await program.close()
    throw error
  }
}

async function serveProgram(program: Program, settings: Settings, log: Log): Promise<Serving> {
  const { services, dispatch, metrics } = program
  const stopping = new AbortController()
  const started = Date.now()
  const boot = services.randomHex(4)
  let requests = 0
  let ready = true

  const newRequestId = () => `${boot}-${(requests++).toString(36)}`
  const mcp = createMcp({
    dispatch,
    newRequestId,
    cors_origins: settings.cors_origins,
    hosts: hostsOf(settings),
    stopping: stopping.signal,
    log,
  })
  const limits = createLimits(settings, program.shared?.lease)
  const { authenticate, access } = await openAccess(settings, limits.logins)
  const dashboard = openDashboard(settings, services, access)
  const options = {
    dispatch,
    authenticate,
    ...(dashboard && { session: dashboard.caller }),
    ...limits,
    cors_origins: settings.cors_origins,
    max_body_bytes: settings.max_body_bytes,
    trust_proxy: settings.trust_proxy,
    newRequestId,
    ready: () => ready,
    ...(program.shared && { reachable: program.shared.reachable }),
    health: () => health(started),
    card: () => card(settings.public_url ?? port.url),
    metrics: async () => ({ text: await metrics.render(services), content_type: metrics.content_type }),
    routes: {
      ...evidencePaths(settings, services, dispatch),
      ...githubRoutes(settings, program, limits.logins),
      '/mcp': mcp.route,
      ...dashboard?.routes,
    },
    stopping: stopping.signal,
  }
  let port: Listening
  try {
    port = listen({ ...settings, handle: createFetch(options), largest_body_bytes: largestBody(options), log })
  } catch (error) {
    throw new Error(`can't listen on ${settings.host}:${settings.port} (CSTP_HOST, CSTP_PORT)`, { cause: error })
  }

  return {
    url: port.url,
    failure: program.failure,
    reload: async () => void (await services.policy.reload()),
    async stop() {
      ready = false
      await port.settled(drainMs)
      stopping.abort(new Error('the server stops'))
      await mcp.close()
      await port.close()
      await program.close()
    },
  }
}
