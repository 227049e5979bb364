/**
 * Tokens of agents in the folder `tokens` of a data directory: their SHA-256, with name, scopes and end. Every file is written once and
 * never changed, and all a token can lose is time: several processes work without locks, and no token comes back.
 *
 * - `<id>.json`: the token
 * - `<id>.ends-<milliseconds since 1970>`: it ends at that time, or before; revoking and replacing add one
 * - `<id>.used`: its modification time is that of the last use, to the minute
 */
import { hash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFormat } from '../../sdk/schema/format.ts'
import {
  type Agents,
  agentsOf,
  type Credential,
  type Grants,
  isWorkspaceName,
  type Scope,
  scopes,
} from '../core/caller.ts'
import { createFile } from '../core/disk.ts'
import { formatProblem } from '../core/format.ts'
import type { Log } from '../core/log.ts'
import { newToken } from '../core/token-file.ts'

export interface Token {
  id: string
  /** What it is for, as its creator says. */
  name: string
  agent: string
  /** Null if it has those of every agent: read and write. */
  scopes: Scope[] | null
  /** Absent for the default workspace. */
  workspace?: string
  created_at: string
  /** Null if it does not expire. */
  expires_at: string | null
}

interface TokenFile extends Token {
  format: typeof dataFormat
  token_sha256: string
}

/** A token as it stands. */
export interface TokenState extends Token {
  state: 'active' | 'expired' | 'revoked'
  /** When it ends or ended; null if it does not. */
  ends_at: string | null
  /** To the minute; null if it was never used. */
  last_used_at: string | null
}

const folderOf = (data_dir: string): string => join(data_dir, 'tokens')
const fileForm = /^([0-9a-f]{8})\.(?:json|used|ends-(\d{1,15}))$/
const seenAgainMs = 100
const notedMs = 60_000

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => fileForm.test(name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** @throws Error naming the file and what is wrong with it, never its content */
function readToken(folder: string, id: string): TokenFile {
  const path = join(folder, `${id}.json`)
  let file: TokenFile
  try {
    file = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`${path}: expected JSON`)
    throw error
  }
  const problem = formatProblem(`${path}: format`, file?.format)
  if (problem !== null) throw new Error(problem)
  const known = (given: unknown) => Array.isArray(given) && given.every((scope) => scopes.includes(scope))
  const isComplete =
    typeof file.agent === 'string' &&
    /^[0-9a-f]{64}$/.test(file.token_sha256) &&
    (file.scopes === null || known(file.scopes)) &&
    (file.workspace === undefined || isWorkspaceName(file.workspace)) &&
    (file.expires_at === null || Number.isFinite(Date.parse(file.expires_at)))
  if (!isComplete) throw new Error(`${path}: expected agent, token_sha256, scopes and expires_at of a token`)
  return file
}

/** The times at which a token was made to end, by id. */
function endsIn(names: readonly string[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const name of names) {
    const [, id = '', ms] = fileForm.exec(name) ?? []
    if (ms !== undefined) found.set(id, Math.min(found.get(id) ?? Number.POSITIVE_INFINITY, Number(ms)))
  }
  return found
}

const endOf = ({ expires_at }: Token, ended: number | undefined): number =>
  Math.min(ended ?? Number.POSITIVE_INFINITY, expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at))

const idsIn = (names: readonly string[]): string[] =>
  names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))

/** Every token that was created, the newest first. @throws Error naming a file that can't be read */
export function listTokens(data_dir: string, now: number): TokenState[] {
  const folder = folderOf(data_dir)
  const names = namesIn(folder)
  const ends = endsIn(names)
  return idsIn(names)
    .map((id): TokenState => {
      const { format: _, token_sha256: __, ...token } = readToken(folder, id)
      const end = endOf(token, ends.get(id))
      const used = names.includes(`${id}.used`) ? statSync(join(folder, `${id}.used`)).mtime.toISOString() : null
      const isExpired = token.expires_at !== null && Date.parse(token.expires_at) <= end
      return {
        ...token,
        state: end > now ? 'active' : isExpired ? 'expired' : 'revoked',
        ends_at: Number.isFinite(end) ? new Date(end).toISOString() : null,
        last_used_at: used,
      }
    })
    .sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id))
}

/** Creates a token. Its text is returned and stored nowhere. @returns when the file is on stable storage */
export async function createToken(
  data_dir: string,
  given: Pick<Token, 'name' | 'agent' | 'scopes' | 'expires_at' | 'workspace'>,
  now: number,
): Promise<{ created: Token; token: string }> {
  const token = newToken()
  const created: Token = { id: randomBytes(4).toString('hex'), ...given, created_at: new Date(now).toISOString() }
  const file: TokenFile = { format: dataFormat, ...created, token_sha256: hash('sha256', token, 'hex') }
  if (!(await createFile(join(folderOf(data_dir), `${created.id}.json`), `${JSON.stringify(file)}\n`)))
    return createToken(data_dir, given, now)
  return { created, token }
}

/** Ends a token at a time, in milliseconds since 1970, unless it ends before. */
export async function endToken(data_dir: string, id: string, at: number): Promise<void> {
  await createFile(join(folderOf(data_dir), `${id}.ends-${at}`), '')
}

/**
 * The agents of the tokens that are valid now. The folder is listed at most ten times a second, when somebody calls: a service that runs sees
 * at once what another process created or ended, and who tries a new token again at once is not taken for somebody who guesses. A folder that
 * can't be listed has no tokens.
 */
export function followTokens(options: {
  data_dir: string
  /** The agents of the settings, listed first. */
  fixed: readonly Credential[]
  grants: Grants
  log: Log
  now(): number
  /** Milliseconds of a clock that is never set. */
  elapsed(): number
}): Agents {
  const { data_dir, fixed, grants, log, now, elapsed } = options
  const folder = folderOf(data_dir)
  const own = agentsOf(fixed, grants)
  const files = new Map<string, TokenFile>()
  const noted = new Map<string, number>()
  let ends = new Map<string, number>()
  let seen = ''
  let seenAt = Number.NEGATIVE_INFINITY
  let current = own
  let nextEnd = Number.POSITIVE_INFINITY

  /** A use that can't be noted is no reason to refuse a call. */
  function used(id: string): void {
    const at = now()
    if (at - (noted.get(id) ?? 0) < notedMs) return
    noted.set(id, at)
    const path = join(folder, `${id}.used`)
    const failed = (error: Error) => log('debug', 'the use of a token could not be noted', { id, error: error.message })
    void utimes(path, at / 1_000, at / 1_000).catch((error) =>
      isMissing(error) ? writeFile(path, '', { mode: 0o600 }).catch(failed) : failed(error),
    )
  }

  function select(): void {
    const valid = [...files.values()].filter((file) => endOf(file, ends.get(file.id)) > now())
    nextEnd = Math.min(...valid.map((file) => endOf(file, ends.get(file.id))))
    const made = valid.map(({ agent, token_sha256, scopes: granted, workspace }) => ({
      agent,
      hash: Buffer.from(token_sha256, 'hex'),
      scopes: granted,
      ...(workspace !== undefined && { workspace }),
    }))
    current = [
      ...own,
      ...agentsOf(made, grants).map((agent, index) => ({ ...agent, used: () => used(valid[index]!.id) })),
    ]
  }

  function look(): void {
    let names: string[] = []
    try {
      names = namesIn(folder).filter((name) => !name.endsWith('.used'))
    } catch (error) {
      log('error', "the folder of tokens can't be read: its tokens are refused", { error: (error as Error).message })
    }
    const listed = names.sort().join('\n')
    if (listed === seen) return
    seen = listed
    ends = endsIn(names)
    const ids = new Set(idsIn(names))
    for (const id of files.keys()) if (!ids.has(id)) files.delete(id)
    for (const id of ids) {
      if (files.has(id)) continue
      try {
        files.set(id, readToken(folder, id))
      } catch (error) {
        log('error', "a token can't be read: it is refused", { id, error: (error as Error).message })
      }
    }
    select()
  }

  return () => {
    if (elapsed() - seenAt >= seenAgainMs) {
      seenAt = elapsed()
      look()
    }
    if (nextEnd <= now()) select()
    return current
  }
}
