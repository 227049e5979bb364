/** Loads external drivers from the modules named in CSTP_DRIVERS. */
import { nearest } from '../../sdk/nearest.ts'
import type { Drivers } from '../../sdk/storage/drivers.ts'
import { messageOf } from '../core/log.ts'
import { ConfigError, type Settings } from './config/config.ts'

/** What the functions of a module open. */
type Opened = { [P in keyof Drivers]-?: Awaited<ReturnType<NonNullable<Drivers[P]>>> }

/** Required members of each port's driver, to reject objects that are not drivers. */
const members = {
  store: [
    'driver',
    'decisions',
    'edges',
    'feed',
    'keyed',
    'audit',
    'thread',
    'transaction',
    'reconcile',
    'scrub',
    'close',
  ],
  evidence: ['driver', 'head', 'append', 'read', 'hashes', 'nodes', 'checkpoints', 'saveCheckpoint', 'close'],
  embedder: ['driver', 'id', 'effective_dimensions', 'noise_distance', 'embed', 'close'],
  search: ['driver', 'open', 'keepOnly', 'close'],
} as const satisfies { [P in keyof Opened]: readonly (keyof Opened[P])[] }
type Port = keyof Opened
const ports = Object.keys(members) as Port[]

const refused = (module: string, message: string): ConfigError =>
  new ConfigError([`CSTP_DRIVERS: ${module}: ${message}`])

/** The default export of one module. */
async function driversOf(module: string): Promise<Record<string, unknown>> {
  const loaded = await import(module).catch((error: unknown) => {
    throw refused(module, `can't be loaded: ${messageOf(error)}`)
  })
  const drivers: unknown = loaded.default
  if (drivers === null || typeof drivers !== 'object')
    throw refused(
      module,
      `expected a default export with some of ${ports.join(', ')}, received ${drivers === null ? 'null' : typeof drivers}`,
    )
  return drivers as Record<string, unknown>
}

/** Opens a driver and checks that it has the required members. */
const opening =
  (module: string, port: Port, open: (options?: unknown) => unknown) =>
  async (options?: unknown): Promise<never> => {
    const opened = Object(await open(options)) as Record<string, unknown>
    const missing = members[port].filter((name) => opened[name] === undefined)
    if (missing.length > 0) throw refused(module, `what ${port} opens lacks ${missing.join(', ')}`)
    return opened as never
  }

/** @throws ConfigError naming the module and what was expected */
export async function loadDrivers(modules: readonly string[]): Promise<Drivers> {
  const found: Drivers = {}
  const from = new Map<string, string>()
  for (const module of modules) {
    for (const [name, open] of Object.entries(await driversOf(module))) {
      const port = ports.find((one) => one === name)
      if (!port) {
        const near = nearest(name, ports)
        throw refused(
          module,
          `${name} is not a port; ${near ? `did you mean ${near}?` : `known are ${ports.join(', ')}`}`,
        )
      }
      if (typeof open !== 'function')
        throw refused(module, `${port}: expected a function that opens it, received ${typeof open}`)
      const other = from.get(port)
      if (other !== undefined) throw refused(module, `${port} is exported by ${other} too`)
      from.set(port, module)
      found[port] = opening(module, port, open as (options?: unknown) => unknown)
    }
  }
  return found
}

/** The ports whose files belong to the driver: the program knows only the files of its own drivers. */
const withFiles = ['store', 'evidence'] as const
export type PortWithFiles = (typeof withFiles)[number]

/** The ports with files that modules of the settings replace. @throws ConfigError if a module can't be loaded */
export async function foreignPorts({ drivers }: Pick<Settings, 'drivers'>): Promise<PortWithFiles[]> {
  const own = await loadDrivers(drivers)
  return withFiles.filter((port) => own[port] !== undefined)
}

/** One sentence: what a command can't do with drivers whose files it does not know. */
export const unknownFiles = (ports: readonly PortWithFiles[], what: string): string =>
  `${ports.join(' and ')} of CSTP_DRIVERS: cstp does not know the files of these drivers, so it ${what}`

/** Refuses a command that works on the files of stores. @throws ConfigError naming the ports that others store */
export async function refuseForeignFiles(settings: Pick<Settings, 'drivers'>, what: string): Promise<void> {
  const ports = await foreignPorts(settings)
  if (ports.length > 0) throw new ConfigError([unknownFiles(ports, what)])
}
