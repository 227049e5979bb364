/** The programs of workspaces: each is opened when it is called, and closed when nobody has called it for a while. */
import type { Services } from '../../calls/services.ts'
import { describeError, type Log } from '../../core/log.ts'
import { dayMs } from '../../core/time.ts'
import { type Publisher, publishedFilters } from '../../domain/search/published.ts'
import type { Settings } from '../config/config.ts'
import type { Shared } from '../drivers.ts'
import { type Opening, StoreLost } from '../lifecycle.ts'
import { type Access, type Limits, limitOfRequests } from '../routes.ts'
import { openSurface, type SharedByAll, type Surface, type Surfaced } from '../surface.ts'
import { accessIn } from './access.ts'
import { listWorkspaces, settingsOf } from './folder.ts'

/** After this time without a request, a workspace is closed. */
const idleMs = 30 * 60_000
/** Above this number, the ones that were not called for the longest time are closed earlier: an open one with 500 decisions takes 18 MB. */
const mostOpen = 32
/** Above the limit of memory, one that was called within this time is closed only for another one: its memory is not free at once. */
const keptMs = 60_000
/** So many may be closing at once, which takes memory too: then the next one opens when one of them is closed. */
const mostClosing = 4
const sweepMs = 10_000
/** A change of the folder is seen within this time. */
const seenAgainMs = 1_000
/** How long a workspace that can't be opened is not tried again. */
const failedMs = 2_000
interface Program extends Surfaced {
  shared: Shared | undefined
  failure: Promise<never>
  place: { url: string }
  close(): Promise<void>
}

export interface Opened {
  program: Program
  surface: Surface
  settings: Settings
}

export interface Space {
  opened: Promise<Opened>
  /** Requests and streams under way. */
  busy: number
  used_ms: number
}

/** One text for all that can't be used: it doesn't tell whether there is, or was, a workspace of this name. */
export class UnknownWorkspace extends Error {
  override name = 'UnknownWorkspace'
}

/** It is there, and can't be opened; the log says why. */
export class WorkspaceAway extends Error {
  override name = 'WorkspaceAway'
}

export interface Spaces {
  /** Those that can be used, as of a second ago. */
  names(): ReadonlySet<string>
  /** @throws ConfigError */
  settingsOf(name: string): Promise<Settings>
  /** Opens a workspace unless it is open, and keeps it open meanwhile. @throws UnknownWorkspace @throws WorkspaceAway */
  use<T>(name: string, work: (opened: Opened, space: Space) => Promise<T>): Promise<T>
  /** Those that are open now. */
  opened: ReadonlyMap<string, Space>
  /** Reads settings and rules again. */
  reload(): Promise<void>
  close(): Promise<void>
}

export interface SpacesOptions {
  settings: Settings
  /** Of all workspaces. */
  access: Access
  limits: Limits
  all: SharedByAll
  log: Log
  /** When open ones are closed: after how long, and above which number. */
  bounds?: { idle_ms: number; most_open: number }
  /** Services of the default workspace. */
  main: Services
  open(settings: Settings, log: Log, opening: Pick<Opening, 'afresh' | 'workspace'>): Promise<Program>
}

export function openSpaces(options: SpacesOptions): Spaces {
  const { settings, access, limits, all, log, open } = options
  const { idle_ms, most_open } = options.bounds ?? { idle_ms: idleMs, most_open: mostOpen }
  const { data_dir, workspaces_memory } = settings
  const spaces = new Map<string, Space>()
  const closing = new Map<string, Promise<void>>()
  const known = new Map<string, Promise<Settings>>()
  const lost = new Set<string>()
  const visited = new Map<string, number>()
  const clock = () => performance.now()

  let names = new Set<string>()
  let publishing: Promise<Publisher[]> | undefined
  let seenAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  function namesNow(): Set<string> {
    if (clock() - seenAt < seenAgainMs) return names
    seenAt = clock()
    try {
      const found = new Set(listWorkspaces(data_dir).flatMap(({ name, state }) => (state === 'active' ? [name] : [])))
      if (found.symmetricDifference(names).size > 0) [names, publishing] = [found, undefined]
    } catch (error) {
      ;[names, publishing] = [new Set(), undefined]
      log('error', "the folder of workspaces can't be read: they are refused", describeError(error))
    }
    if (names.size > 0) timer ??= setInterval(sweep, Math.min(sweepMs, idle_ms)).unref()
    return names
  }

  function settingsFor(name: string): Promise<Settings> {
    const read = known.get(name) ?? settingsOf(settings, name)
    known.set(name, read)
    read.catch(() => known.delete(name))
    return read
  }

  async function begin(name: string): Promise<Opened> {
    await closing.get(name)
    if (closing.size >= mostClosing) await Promise.race(closing.values())
    const own = await settingsFor(name)
    const ownLog: Log = Object.assign(
      (...[level, message, data]: Parameters<Log>) => log(level, message, { workspace: name, ...data }),
      { flush: log.flush },
    )
    const program = await open(own, ownLog, { afresh: lost.delete(name), workspace: name })
    try {
      program.place.url = all.url()
      program.services.publishers = () => publishersFor(name)
      const surface = await openSurface(program, {
        ...all,
        settings: own,
        access: accessIn(access, name),
        limits: { ...limits, requests: limitOfRequests(own, program.shared?.lease) },
        dashboard: null,
        log: ownLog,
      })
      program.failure.catch((error) => {
        ownLog('error', 'the workspace failed; it is opened again', describeError(error))
        if (error instanceof StoreLost) lost.add(name)
        void end(name)
      })
      return { program, surface, settings: own }
    } catch (error) {
      await program.close()
      throw error
    }
  }

  /** The workspaces that publish decisions, found once: each search asks for them, and most of many publish none. */
  async function findPublishing(): Promise<Publisher[]> {
    const found = await Promise.all(
      [...names].map(async (workspace): Promise<Publisher> => {
        const own = await settingsFor(workspace).catch(() => {
          // Settings that can't be read publish nothing until they can be; opening the workspace says why.
          publishing = undefined
          return null
        })
        const filters = own ? publishedFilters(own) : []
        return { workspace, filters, use: (work) => use(workspace, ({ program }) => work(program.services)) }
      }),
    )
    return found.filter(({ filters }) => filters.length > 0)
  }

  /** Those but this one that publish decisions. */
  async function publishersFor(reader?: string): Promise<Publisher[]> {
    namesNow()
    publishing ??= findPublishing()
    const found = (await publishing).filter(({ workspace }) => workspace !== reader)
    const filters = reader === undefined ? [] : publishedFilters(settings)
    if (filters.length > 0) found.push({ workspace: null, filters, use: (work) => work(options.main) })
    return found
  }
  options.main.publishers = () => publishersFor()

  function spaceOf(name: string): Space {
    const found = spaces.get(name)
    if (found) return found
    if (!namesNow().has(name)) throw new UnknownWorkspace()
    const space: Space = { opened: begin(name), busy: 0, used_ms: clock() }
    spaces.set(name, space)
    visited.set(name, clock())
    space.opened.catch((error) => {
      log('error', "a workspace can't be opened", { workspace: name, ...describeError(error) })
      setTimeout(() => spaces.get(name) === space && spaces.delete(name), failedMs).unref()
    })
    return space
  }

  async function use<T>(name: string, work: (opened: Opened, space: Space) => Promise<T>): Promise<T> {
    if (!namesNow().has(name)) throw new UnknownWorkspace()
    const isNew = !spaces.has(name)
    const space = spaceOf(name)
    space.busy++
    // Once it is busy, so that it is not closed itself when all others are.
    makeRoom(isNew && isTight() ? 1 : 0)
    try {
      const opened = await space.opened.catch((cause) => {
        throw new WorkspaceAway("it can't be opened", { cause })
      })
      return await work(opened, space)
    } finally {
      space.busy--
      space.used_ms = clock()
      makeRoom()
    }
  }

  function end(name: string): Promise<void> {
    const space = spaces.get(name)
    if (!space) return closing.get(name) ?? Promise.resolve()
    spaces.delete(name)
    const ended = space.opened
      .then(async ({ surface, program }) => {
        await surface.close()
        await program.close()
      })
      .catch(() => {
        // It was not opened, which is in the log.
      })
      .finally(() => closing.delete(name))
    closing.set(name, ended)
    return ended
  }

  const idle = () => [...spaces].filter(([, { busy }]) => busy === 0).sort(([, a], [, b]) => a.used_ms - b.used_ms)

  const isTight = () => workspaces_memory > 0 && process.memoryUsage.rss() > workspaces_memory

  function makeRoom(least = 0): void {
    const over = Math.max(spaces.size - most_open, least)
    if (over > 0) for (const [name] of idle().slice(0, over)) void end(name)
  }

  function sweep(): void {
    const now = namesNow()
    for (const [name, { used_ms }] of idle()) if (!now.has(name) || clock() - used_ms > idle_ms) void end(name)
    const [oldest] = idle()
    if (oldest && clock() - oldest[1].used_ms > keptMs && isTight()) void end(oldest[0])
    // Retention and notices go on where nobody calls: each workspace is opened once a day.
    const due = [...now].find((name) => !spaces.has(name) && clock() - (visited.get(name) ?? -dayMs) >= dayMs)
    if (due !== undefined)
      use(due, async () => {}).catch(() => {
        // The log says why.
      })
  }

  return {
    names: namesNow,
    settingsOf: settingsFor,
    use,
    opened: spaces,
    async reload() {
      known.clear()
      publishing = undefined
      for (const [name, space] of spaces) {
        const opened = await space.opened.catch(() => null)
        const now = await settingsFor(name).catch((error) =>
          log('error', 'settings of a workspace are wrong', describeError(error)),
        )
        if (!opened || !now) continue
        if (Bun.deepEquals(opened.settings, now))
          await opened.program.services.policy
            .reload()
            .catch((error) =>
              log('error', 'guardrails could not be reloaded', { workspace: name, ...describeError(error) }),
            )
        else await end(name)
      }
    },
    async close() {
      clearInterval(timer)
      await Promise.all([...spaces.keys()].map(end))
      await Promise.all(closing.values())
    },
  }
}
