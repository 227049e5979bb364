/**
 * The composition root, read from top to bottom: drivers, services, dispatch, surfaces, port. Only here do settings become objects.
 * Startup follows the order of the lines; what was passed to `keep` is closed in reverse order, after the port.
 */
import { mkdir } from 'node:fs/promises'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { isStorageError } from '../../sdk/storage/errors.ts'
import { createDispatch, discover } from '../calls/dispatch.ts'
import type { Services } from '../calls/services.ts'
import { describeError, type Log } from '../core/log.ts'
import { version } from '../core/version.ts'
import { openPhrases } from '../domain/learn/memory/clusters.ts'
import { openWisdom } from '../domain/learn/memory/wisdom.ts'
import { openThread, type Thread } from '../domain/ledger/thread/sequencer.ts'
import { enact } from '../domain/policy/judge/archive.ts'
import { startTracker } from '../domain/record/deliberation/tracker.ts'
import { startOutbox } from '../domain/search/outbox.ts'
import { analyse } from '../domain/search/terms.ts'
import { methods } from '../methods/table.ts'
import { openPolicy } from '../policy/files.ts'
import { createMetrics } from '../surfaces/http/metrics.ts'
import { expectedUrl, openDesk, openDriftReports, openNotices } from './approvals.ts'
import { refuseUnfinished } from './backup/files.ts'
import type { Settings } from './config/config.ts'
import { metered, openEmbedder, openEvidence, openIndex, openStore, randomHex, type Shared } from './drivers.ts'
import { startErasing } from './erasure.ts'
import { evidenceServices } from './evidence.ts'
import { folderInside, folderOfDecisions } from './folders.ts'
import { gatewayMethods } from './gateway-route.ts'
import { hookMethods } from './hooks.ts'
import { closing, later, type Opening, openAdmission } from './lifecycle.ts'
import { type Listening, listen } from './listen.ts'
import { openPublisher } from './publisher.ts'
import { loadRetention } from './retention.ts'
import { createLimits, logging, openAccess, openDashboard } from './routes.ts'
import { followSearchedTexts } from './search.ts'
import { runningAt } from './service-file.ts'
import { openSurface, type SharedByAll, type Surfaced } from './surface.ts'
import { openObserver } from './telemetry/telemetry.ts'
import { checkStart, followThread, refuseLostStore } from './thread-mark.ts'
import { accessIn } from './workspaces/access.ts'
import { openWorkspaces } from './workspaces/front.ts'

/** How long a record waits for its vectors before they are left to the outbox. */
const embedWaitMs = 2_000
/** How long calls in progress may take when the server stops. */
const drainMs = 10_000
/** How long a search waits for the index to follow the store; then its answer says that decisions may be missing. */
const searchWaitMs = 1_000

interface Program extends Surfaced {
  /** The embedder, without the metrics of this program. */
  bare: Embedder
  /** Set if other servers work on the same database. */
  shared: Shared | undefined
  /** Rejects if the embedder, which loads in the background, can't be loaded, or with {@link StoreLost}; never resolves. */
  failure: Promise<never>
  /** The address at which people reach the service. */
  place: { url: string }
  close(): Promise<void>
}

/**
 * Opens everything behind the methods, for the server and for commands that open a data directory themselves.
 */
export async function openProgram(
  settings: Settings,
  log: Log,
  overrides: Partial<Services> = {},
  { search_wait_ms, brief = false, afresh = false, embedder: shares, workspace }: Opening = {},
): Promise<Program> {
  const { data_dir } = settings
  await mkdir(data_dir, { recursive: true, mode: 0o700 })
  refuseUnfinished(data_dir)
  await refuseLostStore(settings)
  const { keep, close } = closing(log)
  const { promise: failure, reject: fail } = Promise.withResolvers<never>()
  // The server waits for this promise; a command may exit first.
  failure.catch(() => {})
  try {
    const now = overrides.now ?? Date.now
    const named = [discover, ...hookMethods, ...gatewayMethods(settings)]
    const metrics = createMetrics(version, new Set([...methods.keys(), ...named]), Object.keys(settings.gateway))

    let thread: Thread | undefined
    const opening = [
      openStore(settings, { analyse, now, log, brief }, () => thread?.wake(), fail).then(keep),
      shares ?? openEmbedder(settings, log, fail).then(keep),
      openEvidence(settings).then(keep),
    ] as const
    await Promise.allSettled(opening)
    const [{ store, shared, reachable }, bare, evidence] = await Promise.all(opening)
    const embedder = metered(bare, metrics)
    const watched = brief
      ? null
      : { env: process.env, settings, store, now, log, ...(workspace !== undefined && { workspace }) }
    const observer = keep(await openObserver(metrics, watched))
    const index = keep(await openIndex(settings, store, embedder.id, log, search_wait_ms, afresh))

    // Services
    const outbox = keep(
      startOutbox({
        store,
        embedder,
        now,
        after: later,
        failed: (id, attempts, error) =>
          log('warn', 'embedding failed; it will be retried', { id, attempts, ...describeError(error) }),
      }),
    )
    const { threadSigner, ...ofEvidence } = await evidenceServices(settings, evidence, store.thread, now, log)
    await checkStart(settings, { store, evidence, signer: threadSigner, log })
    // Closed after the thread, so that the mark covers its last acts.
    keep(followThread(data_dir, store.thread, threadSigner, log))
    thread = keep(
      openThread({
        store,
        evidence,
        signer: threadSigner,
        now,
        randomHex,
        after: later,
        failed: (error) => log('warn', 'acts are waiting for their places in the ledger', describeError(error)),
      }),
    )
    const publisher = keep(await openPublisher(settings, store, thread, now, log))
    const policy = await openPolicy(settings.guardrails_paths, log, now, (set) => enact(store, set, now()), settings)
    const tracker_ttl_ms = settings.tracker_ttl_minutes * 60_000
    const tracker = keep(
      startTracker({
        store,
        now,
        newId: () => randomHex(8),
        ttl_ms: tracker_ttl_ms,
        after: later,
        failed: (error) => log('warn', 'deliberation could not be saved; it will be retried', describeError(error)),
      }),
    )
    const place = { url: expectedUrl(settings) }
    const approvalContext = openDesk(settings, () => place.url, now, workspace)
    for (const rounds of [openNotices(settings, store, now, log), openDriftReports({ store, approvalContext }, log)])
      if (rounds) keep(rounds)
    const retention = await loadRetention(settings)
    const services: Services = {
      store,
      index,
      embedder,
      outbox,
      ...ofEvidence,
      thread,
      publisher,
      policy,
      approvalContext,
      roles: settings.approver_roles,
      secrets: settings.secrets,
      retention,
      record_guardrails: settings.record_guardrails,
      attribution: {
        min_stability_days: settings.min_stability_days,
        by_age: settings.attribute_by_age === 'on',
      },
      agent_bytes_per_day: settings.agent_bytes_per_day,
      wisdom: openWisdom(store, openPhrases(embedder)),
      tracker,
      tracker_ttl_ms,
      embed_wait_ms: embedWaitMs,
      folderInside: async (path) => (settings.store_url ? folderOfDecisions(path) : folderInside(data_dir, path)),
      reindexProgress: metrics.reindex,
      service_version: version,
      log,
      ...{ judged: observer.judged, ranAstray: observer.ranAstray },
      now,
      elapsed: () => performance.now(),
      yieldToEventLoop: () => Bun.sleep(0),
      randomHex,
      ...overrides,
    }
    keep(startErasing(services))
    if (!brief) keep(followSearchedTexts(services))

    const dispatch = createDispatch(methods, services, logging(observer.ended, log), { admission: openAdmission() })
    return { services, bare, dispatch, observer, metrics, shared, reachable, failure, place, close }
  } catch (error) {
    await close()
    throw error
  }
}

export interface Serving {
  url: string
  /** Reloads the guardrail files; problems with them are logged. */
  reload(): Promise<void>
  /** Rejects as that of the program; the service must then stop. */
  failure: Promise<never>
  /** Milliseconds since the last call began or ended. Questions about its health are no calls. */
  idleMs(): number
  /** Stops accepting calls, waits for those in progress, and closes everything. */
  stop(): Promise<void>
}

const mostStarts = 10
/** PostgreSQL's code of a statement that took longer than it may. */
const isLate = (error: unknown): boolean => isStorageError(error, 'unavailable') && error.message.includes('(57014)')

/**
 * Opens the program of a service. One statement of many that takes too long, as under the load that a killed server left to others, does
 * not end a start.
 */
async function openPatiently(...given: Parameters<typeof openProgram>): Promise<Program> {
  for (let start = 1; ; start++)
    try {
      return await openProgram(...given)
    } catch (error) {
      if (!isLate(error) || start === mostStarts) throw error
      given[1]('warn', 'The database answers too slowly; the start is repeated', describeError(error))
    }
}

/** Starts the service. Resolves once it accepts calls. */
export async function serve(settings: Settings, log: Log, afresh = false): Promise<Serving> {
  const program = await openPatiently(settings, log, {}, { search_wait_ms: searchWaitMs, afresh })
  try {
    return await serveProgram(program, settings, log)
  } catch (error) {
    await program.close()
    throw error
  }
}

/** Why an address can't be had: a client may have started the folder's own service before. */
function whyNotListening({ host, port, data_dir }: Settings, cause: unknown): Error {
  const own = runningAt(data_dir, port)
  return own === null
    ? new Error(`can't listen on ${host}:${port} (CSTP_HOST, CSTP_PORT)`, { cause })
    : new Error(`the service of ${data_dir} runs already: use it at ${own.url}, or stop it with: kill ${own.pid}`)
}

async function serveProgram(program: Program, settings: Settings, log: Log): Promise<Serving> {
  const { services, metrics, shared } = program
  const stopping = new AbortController()
  const boot = services.randomHex(4)
  let [requests, ready] = [0, true]
  const url = () => settings.public_url ?? port.url
  const all: SharedByAll = {
    url,
    newRequestId: () => `${boot}-${(requests++).toString(36)}`,
    ready: () => ready,
    stopping: stopping.signal,
    started: Date.now(),
  }

  // Identities, which choose the workspace, and a surface for each
  const access = await openAccess(settings, url, log)
  const limits = createLimits(settings, log, metrics, shared?.lease)
  const workspaces = openWorkspaces({
    ...{ settings, access, limits, all, log, main: services },
    open: (own, ownLog, opening) =>
      openProgram(own, ownLog, {}, { search_wait_ms: searchWaitMs, embedder: program.bare, ...opening }),
  })
  const { guesses } = limits
  const dashboard =
    settings.dashboard === 'on' ? openDashboard({ settings, services, access, guesses, url }, workspaces) : null
  if (dashboard) Object.assign(access, { session: dashboard.caller, offer: dashboard.offer })
  const own = { settings, access: accessIn(access), limits, dashboard, log }
  const { routes, metrics: more } = workspaces
  const surface = await openSurface(program, { ...all, ...own, routes, more })

  let port: Listening
  try {
    port = listen({
      ...settings,
      handle: workspaces.before(surface.fetch),
      largest_body_bytes: surface.largest_body_bytes,
      log,
    })
  } catch (error) {
    throw whyNotListening(settings, error)
  }
  if (settings.port === 0 && settings.public_url === null) program.place.url = port.url

  return {
    url: port.url,
    failure: program.failure,
    idleMs: port.idleMs,
    async reload() {
      const failed = (error: unknown) => log('error', 'guardrails could not be reloaded', describeError(error))
      await services.policy.reload().catch(failed)
      await workspaces.reload()
    },
    async stop() {
      ready = false
      await port.settled(drainMs)
      stopping.abort(new Error('the server stops'))
      await Promise.all([surface.close(), workspaces.close()])
      await port.close()
      await program.close()
    },
  }
}
