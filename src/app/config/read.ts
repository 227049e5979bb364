/** Declaration of a setting, and readers for its value from YAML or text. Each reader throws an Error that says what was expected. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Credential, parseTokens, type Role, type Scope, scopes, roles as tokenRoles } from '../../core/caller.ts'
import { type RulePack, rulePacks } from '../../domain/policy/rules/packs.ts'

const expected = (what: string): never => {
  throw new Error(`expected ${what}`)
}

export const text = (value: unknown): string =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : expected('text that is not empty')

export const path = (value: unknown): string => {
  const given = text(value)
  if (given.includes('-----BEGIN')) return expected('the path of a file, not its content')
  // Otherwise a mistyped address would become a folder of that name.
  if (/^[a-z][a-z0-9+.-]*:/i.test(given)) return expected('a path, not an address; ./ before a name that has a colon')
  return resolve(given.startsWith('~/') ? join(homedir(), given.slice(2)) : given)
}

/** A folder, or an address in an object store without credentials, which belong in the environment. */
export const folderOrAddress = (value: unknown): string => {
  const given = text(value)
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return path(given)
  return /^(s3|gs|az):\/\/[^@?]+$/.test(given) ? given : expected('a folder or an address such as s3://bucket/prefix')
}

export const whole = (min: number, max: number) => (value: unknown) => {
  const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max) return number
  return expected(`a whole number from ${min} to ${max}`)
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 }
const longestDuration = 365 * 86_400

/** A time such as `8h`, `30m` or `90s`, in seconds; a number alone counts seconds. */
export const duration = (value: unknown): number => {
  const [, digits, unit = 's'] = /^(\d{1,9}) ?([smhd])?$/.exec(String(value).trim()) ?? []
  const seconds = Number(digits) * unitSeconds[unit as keyof typeof unitSeconds]
  return seconds <= longestDuration ? seconds : expected('a time such as 8h, 30m or 90s, up to 365d')
}

export const oneOf =
  <const T extends string>(...values: T[]) =>
  (value: unknown): T =>
    values.find((one) => one === value) ?? expected(`one of ${values.join(', ')}`)

export const list = (value: unknown): string[] => {
  const parts = typeof value === 'string' ? value.split(',') : value
  if (!Array.isArray(parts)) return expected('a list, or comma-separated text')
  return parts.map((part) => text(part))
}

/** A list of these values. */
export const listOf =
  <const T extends string>(...values: T[]) =>
  (value: unknown): T[] =>
    list(value).map(oneOf(...values))

/** Paths of modules. */
export const modules = (value: unknown): string[] => list(value).map(path)

/** Names of shipped packs of control rules, or paths of files; a path contains a slash or a file extension. */
export const packs = (value: unknown): string[] => list(value).map((one) => (/[/\\.]/.test(one) ? path(one) : one))

/** Directories of rules, separated by colons or as a list; `shipped` means the built-in rules, `./shipped` a directory of that name. */
export const rulePlaces = (value: unknown): string[] =>
  list(typeof value === 'string' ? value.split(':') : value).map((place) => (place === 'shipped' ? place : path(place)))

/** Names of shipped packs of rules; `none` for no pack. */
export const packNames = (value: unknown): RulePack[] => {
  const given = list(value)
  return given.length === 1 && given[0] === 'none' ? [] : listOf(...rulePacks)(given)
}

export const url =
  (...protocols: string[]) =>
  (value: unknown): string => {
    const given = text(value)
    if (!URL.canParse(given) || !protocols.includes(new URL(given).protocol.slice(0, -1))) {
      return expected(`a URL of ${protocols.join(' or ')}`)
    }
    return given.replace(/\/$/, '')
  }

export const isPostgres = (place: string | null): place is `postgres${string}` =>
  /^postgres(?:ql)?:\/\//.test(place ?? '')

/** A PostgreSQL database URL; `?schema=` names the schema of the tables. */
export const postgresUrl = (value: unknown): string => {
  const given = text(value)
  const wanted = 'an address such as postgres://user:password@host:5432/database'
  if (!isPostgres(given) || !URL.canParse(given)) return expected(wanted)
  const { hostname, pathname, searchParams } = new URL(given)
  if (hostname === '' || !/^\/[^/]+$/.test(pathname)) return expected(`${wanted}, with a host and a database`)
  const schema = searchParams.get('schema') ?? 'public'
  return /^[a-z_][a-z0-9_]{0,62}$/.test(schema) ? given : expected('a schema of lower-case letters, digits and _')
}

/** A file path or a PostgreSQL URL. */
export const fileOrPostgres = (value: unknown): string => {
  const given = text(value)
  return given.includes('://') ? postgresUrl(given) : path(given)
}

const tokenKeys = ['agent', 'token', 'token_sha256', 'scopes', 'role', 'workspace']

export const credentials = (value: unknown): Credential[] => {
  if (typeof value === 'string') return parseTokens(value)
  if (!Array.isArray(value) || value.length === 0) return expected('comma-separated agent:token pairs, or a list')
  return parseTokens(
    value.map((entry: unknown, index) => {
      const at = `entry ${index + 1}`
      if (entry === null || typeof entry !== 'object') throw new Error(`${at}: expected a mapping`)
      const { agent, token, token_sha256, scopes: given, role, workspace, ...rest } = entry as Record<string, unknown>
      const [unknown] = Object.keys(rest)
      if (unknown) throw new Error(`${at}: unknown key ${unknown}; known are ${tokenKeys.join(', ')}`)
      if (given !== undefined && (!Array.isArray(given) || given.some((scope) => !scopes.includes(scope)))) {
        throw new Error(`${at}: scopes: expected a list of ${scopes.join(', ')}`)
      }
      if (role !== undefined && !Object.hasOwn(tokenRoles, String(role)))
        throw new Error(`${at}: role: expected ${Object.keys(tokenRoles).join(' or ')}`)
      const own = { agent, token, token_sha256, workspace }
      for (const [key, one] of Object.entries(own))
        if (one !== undefined && typeof one !== 'string') throw new Error(`${at}: ${key}: expected text, in quotes`)
      return {
        ...(own as { agent?: string; token?: string; token_sha256?: string; workspace?: string }),
        agent: (agent as string) ?? '',
        scopes: given as Scope[] | undefined,
        role: role as Role | undefined,
      }
    }),
  )
}

export const optional =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T | null =>
    read(value)

/** Roles with their agents: `release-managers=lead+deputy,security=officer`, or a mapping of lists. */
export const roles = (value: unknown): Record<string, string[]> => {
  const wanted = 'roles with their agents, such as release-managers=lead+deputy'
  const entries =
    typeof value === 'string'
      ? list(value).map((part) => part.split('=').map((side) => side.trim()))
      : value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.entries(value)
        : expected(wanted)
  return Object.fromEntries(
    entries.map(([role, agents, ...rest]) => {
      if (!role || !agents || rest.length > 0) return expected(wanted)
      return [role, typeof agents === 'string' ? agents.split('+').map((agent) => text(agent)) : list(agents)]
    }),
  )
}

/** The secret of a Standard Webhooks receiver: 24 to 64 bytes in base64 after `whsec_`. */
export const webhookSecret = (value: unknown): string => {
  const given = text(value)
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(given)?.[1]
  const bytes = base64 === undefined ? 0 : Buffer.from(base64, 'base64').length
  return bytes >= 24 && bytes <= 64 ? given : expected('whsec_ and 24 to 64 bytes in base64')
}

export interface Setting<T> {
  /** Path in the YAML file. */
  yaml: string
  env: string
  flag: string
  default: T | (() => T)
  /** One sentence for the reference and the help. */
  about: string
  secret?: boolean
  /** Reads a YAML value or a text. @throws Error whose message says what was expected */
  read(value: unknown): T
}

/** A setting without the names that follow from its key in the table. */
type Unnamed<T> = Omit<Setting<T>, 'env' | 'flag'>

export const setting = <T>(
  yaml: string,
  fallback: T | (() => T),
  read: (value: unknown) => T,
  about: string,
  secret = false,
): Unnamed<T> => ({ yaml, default: fallback, read, about, secret })

/** Variables that have no prefix. */
const unprefixed = new Set(['guardrails_paths', 'provenance_db'])

/** Settings with their names: `data_dir` is the variable `CSTP_DATA_DIR` and the flag `--data-dir`. */
export const named = <Values>(table: { [K in keyof Values]: Unnamed<Values[K]> }) =>
  Object.fromEntries(
    Object.entries<object>(table).map(([key, one]) => {
      const env = `${unprefixed.has(key) ? '' : 'CSTP_'}${key.toUpperCase()}`
      return [key, { ...one, env, flag: `--${key.replaceAll('_', '-')}` }]
    }),
  ) as { [K in keyof Values]: Setting<Values[K]> }
