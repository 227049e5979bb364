/**
 * The composition root: opens the drivers that the settings name, builds what handlers get, and serves. The only place where settings
 * become things; read it first to see the whole system.
 */
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import type { Settings } from './config.ts'
import type { Services } from './context.ts'
import { createCheckpoints } from './domain/evidence/checkpoints.ts'
import { openFollower } from './domain/follower.ts'
import { startOutbox } from './domain/outbox.ts'
import { analyse } from './domain/terms.ts'
import { startTracker } from './domain/tracker.ts'
import { loadControls } from './policy/controls.ts'
import { openPolicy } from './policy/files.ts'
import { createDispatch, type Dispatch, discover, methods } from './registry.ts'
import { refuseUnfinished } from './server/backup/unfinished.ts'
import { openDashboard } from './server/dashboard.ts'
import { openBundleFiles } from './server/bundles.ts'
import { metered, openEmbedder, openEvidence, openVectors } from './server/drivers.ts'
import { evidencePaths } from './server/evidence.ts'
import { folderInside } from './server/folder.ts'
import { githubRoutes } from './server/github.ts'
import { openPrinter } from './server/printer.ts'
import { card, health } from './server/public.ts'
import { openSigner } from './server/signer.ts'
import { agentsOf, createAuthenticator } from './surfaces/auth.ts'
import { createFetch, largestBody } from './surfaces/http.ts'
import { describeError, type Log } from './surfaces/log.ts'
import { hostsOf } from './surfaces/mcp/guests.ts'
import { createMcp } from './surfaces/mcp/http.ts'
import { createMetrics, type Metrics } from './surfaces/metrics.ts'
import { createRateLimiter } from './surfaces/rate.ts'
import { localCredentials } from './token.ts'
import { version } from './version.ts'

/** How long a record waits for its vectors before they are left to the outbox. */
const embedWaitMs = 2_000
/** How long calls under way may take when the server stops. */
const drainMs = 10_000
const failedLoginsPerMinute = 20
/** Decisions from which an index on disk serves better than exact search in memory. */
const lanceFrom = 200_000

export interface Program {
  services: Services
  dispatch: Dispatch
  metrics: Metrics
  /** Rejects when what loads beside the first calls can't; never resolves. */
  failure: Promise<never>
  close(): Promise<void>
}

/** Runs something once, after so many milliseconds; returns the cancellation. */
function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** Opens everything behind the methods. Used by the server, and by the command line when it works on a data directory itself. */
export async function openProgram(settings: Settings, log: Log, overrides: Partial<Services> = {}): Promise<Program> {
  const { data_dir } = settings
  await mkdir(data_dir, { recursive: true, mode: 0o700 })
  refuseUnfinished(data_dir)
  const opened: { close(): Promise<void> }[] = []
  const close = async () => {
    for (const one of opened.splice(0).reverse())
      await one.close().catch((error) => log('error', 'closing failed', describeError(error)))
  }
  const keep = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one)
    return one
  }
  const { promise: failure, reject: fail } = Promise.withResolvers<never>()
  // Whoever serves waits for it; a command that ends first need not hear of it.
  failure.catch(() => {})
  try {
    const now = overrides.now ?? Date.now
    const metrics = createMetrics(version, new Set([...methods.keys(), discover]))
    const { openSqliteStore } = await import('./drivers/store/sqlite.ts')
    const [store, bare, { evidence, chain }] = await Promise.all([
      openSqliteStore({ dir: data_dir, analyse, now, log }).then(keep),
      openEmbedder(settings, log, fail).then(keep),
      openEvidence(settings, log).then(keep),
    ])
    const embedder = metered(bare, metrics)
    const breathe = () => Bun.sleep(0)
    const every = (ms: number, work: () => void) => {
      const timer = setInterval(work, ms)
      return () => clearInterval(timer)
    }
    const { vectors, tail } = await openVectors(settings, log)
    keep(vectors)
    const index = keep(await openFollower({ store, vectors, ...(tail && { tail }), log, every, breathe }))
    const made = index.generation()
    if (made && made.embedder !== embedder.id) {
      log('warn', 'the vectors in store were made by another embedder; semantic search waits for cstp reindex', {
        stored: made.embedder,
        configured: embedder.id,
      })
    }
    const { driver, count } = await index.status()
    if (driver === 'exact' && count > lanceFrom) {
      log('warn', 'LanceDB would serve so many decisions better: set CSTP_VECTOR_URL to a folder', { decisions: count })
    }
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
    const signer = await openSigner(settings)
    const policy = await openPolicy(settings.guardrails_paths, log, now)
    const tracker = keep(
      startTracker({
        store,
        now,
        newId: () => randomBytes(8).toString('hex'),
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
      controls: loadControls(),
      bundles: openBundleFiles(resolve(settings.bundle_dir ?? join(data_dir, 'bundles'))),
      openPrinter,
      service_version: version,
      breathe,
      signer,
      checkpoints: createCheckpoints({ evidence, signer, now }),
      chain,
      outbox,
      log,
      now,
      randomHex: (bytes) => randomBytes(bytes).toString('hex'),
      embed_wait_ms: embedWaitMs,
      folderInside: (path) => folderInside(data_dir, path),
      reindexProgress: metrics.reindex,
      ...overrides,
    }
    const dispatch = createDispatch(services, ({ request, code, duration_ms }) => {
      metrics.call(request.method, code, duration_ms)
      log('info', 'call', {
        request_id: request.request_id,
        agent: request.caller.agent,
        // An unknown method is any text at all.
        method: request.method.slice(0, 64),
        duration_ms: Math.round(duration_ms * 1_000) / 1_000,
        code,
      })
    })
    return { services, dispatch, metrics, failure, close }
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
  const { services, dispatch, metrics } = program
  const stopping = new AbortController()
  const started = Date.now()
  const boot = services.randomHex(4)
  let requests = 0
  let ready = true
  let underWay = 0

  const rate = {
    per_minute: settings.rate_limit,
    burst: Math.max(100, Math.ceil(settings.rate_limit / 6)),
    now: Date.now,
  }
  const newRequestId = () => `${boot}-${(requests++).toString(36)}`
  const mcp = createMcp({
    dispatch,
    newRequestId,
    cors_origins: settings.cors_origins,
    hosts: hostsOf(settings),
    stopping: stopping.signal,
    log,
  })
  const logins = createRateLimiter({ per_minute: failedLoginsPerMinute, burst: failedLoginsPerMinute, now: Date.now })
  const agents = {
    credentials: settings.auth_tokens ?? (await localCredentials(settings.data_dir)),
    admins: settings.admin_agents,
    evidence: settings.evidence_agents,
  }
  const authenticate = createAuthenticator(agents)
  const dashboard = openDashboard(settings, services, { authenticate, agents: agentsOf(agents), logins })
  const options = {
    dispatch,
    authenticate,
    ...(dashboard && { session: dashboard.caller }),
    requests: createRateLimiter(rate),
    logins,
    cors_origins: settings.cors_origins,
    max_body_bytes: settings.max_body_bytes,
    trust_proxy: settings.trust_proxy,
    newRequestId,
    ready: () => ready,
    health: () => health(started),
    card: () => card(settings.public_url ?? url),
    metrics: async () => ({ text: await metrics.render(services), content_type: metrics.content_type }),
    routes: {
      ...evidencePaths(settings, services, dispatch),
      ...githubRoutes(settings, program, logins),
      '/mcp': mcp.route,
      ...dashboard?.routes,
    },
    stopping: stopping.signal,
  }
  const handle = createFetch(options)
  let server: ReturnType<typeof Bun.serve>
  try {
    server = Bun.serve({
      hostname: settings.host,
      port: settings.port,
      // The surface has limits of its own and answers in its own form; the runtime's stands far behind them.
      maxRequestBodySize: 4 * largestBody(options),
      async fetch(request, { requestIP }) {
        underWay++
        try {
          return await handle(
            request,
            () => requestIP.call(server, request)?.address ?? '',
            () => server.timeout(request, 0),
          )
        } finally {
          underWay--
        }
      },
      error(error) {
        log('error', 'request failed', describeError(error))
        return Response.json({ error: 'internal_error', message: 'Internal error' }, { status: 500 })
      },
    })
  } catch (error) {
    await program.close()
    throw new Error(`can't listen on ${settings.host}:${settings.port} (CSTP_HOST, CSTP_PORT)`, { cause: error })
  }
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  const url = `http://${host}:${server.port}`

  return {
    url,
    failure: program.failure,
    reload: async () => void (await services.policy.reload()),
    async stop() {
      ready = false
      const end = Date.now() + drainMs
      while (underWay > 0 && Date.now() < end) await Bun.sleep(5)
      stopping.abort(new Error('the server stops'))
      await mcp.close()
      await server.stop(true)
      await program.close()
    },
  }
}
