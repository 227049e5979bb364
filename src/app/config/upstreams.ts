/** Servers of tools behind the gateway, as settings name them. */
import * as v from 'valibot'

const limit = (fallback: number) => v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), fallback)

/** What is the same for every server. */
const common = {
  project: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
  /** Seconds that a call waits for an approval if the client can't show its page. */
  approval_wait: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(3_600)), 60),
  calls_per_minute: limit(600),
  calls_per_session: limit(0),
  calls_per_tool: limit(0),
  same_failures: limit(5),
  max_result_bytes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1_024)), 4_194_304),
}

const Command = v.strictObject({
  command: v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.minLength(1)),
  env: v.optional(v.record(v.string(), v.string()), {}),
  cwd: v.optional(v.pipe(v.string(), v.minLength(1))),
  ...common,
})
const Address = v.strictObject({
  url: v.pipe(
    v.string(),
    v.check((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)),
  ),
  headers: v.optional(v.record(v.string(), v.string()), {}),
  ...common,
})

export type CommandUpstream = v.InferOutput<typeof Command>
export type AddressUpstream = v.InferOutput<typeof Address>
/** A server that the gateway starts, or one that it reaches over HTTP. */
export type Upstream = CommandUpstream | AddressUpstream

export const isCommand = (one: Upstream): one is CommandUpstream => 'command' in one

/** The name of a server's calls in the audit trail and in the metrics. */
export const gatewayMethod = (server: string): string => `gateway ${server}`

/** A server that the gateway starts, with the limits that settings have by default. */
export const upstreamOf = (command: readonly string[], more: Record<string, unknown> = {}): CommandUpstream =>
  v.parse(Command, { command: [...command], ...more })

const expected = (what: string): never => {
  throw new Error(`expected ${what}`)
}

/** Reads the setting: a mapping of names to servers, or the same as JSON. */
export function upstreams(value: unknown): Record<string, Upstream> {
  const shape =
    'a mapping of names to servers, each with command (a list of words; env, cwd) or url (headers): files: {command: [npx, some-server]}'
  let given: unknown = value
  if (typeof value === 'string')
    try {
      given = JSON.parse(value)
    } catch {
      return expected(`${shape}, as JSON`)
    }
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return expected(shape)
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => {
      if (!/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(name))
        return expected(
          `names of letters, digits, hyphens and underscores, at most 64; ${JSON.stringify(name)} is not one`,
        )
      const schema = typeof one === 'object' && one !== null && 'url' in one ? Address : Command
      const result = v.safeParse(schema, one)
      if (result.success) return [name, result.output]
      const [issue] = result.issues
      // The value may be a secret, so it is not repeated.
      return expected(`${shape}; ${name}.${v.getDotPath(issue) ?? ''} is missing, unknown or invalid`)
    }),
  )
}
