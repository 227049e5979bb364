/** The tokens of the agents `local` and `admin`, made at the first start if no credentials are configured. */
import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Credential, parseTokens, type Scope } from './caller.ts'

export const localAgent = 'local'
export const adminAgent = 'admin'

/** The agents of a data directory. A model gets the token of `local`; that of `admin` is for people. */
export const ownAgents: readonly { agent: string; file: string; scopes: readonly Scope[] }[] = [
  { agent: localAgent, file: 'token', scopes: ['read', 'write'] },
  { agent: adminAgent, file: 'admin.token', scopes: ['read', 'write', 'curate', 'approve', 'admin'] },
]

/** The file with the token of an agent of the data directory. */
export const tokenPath = (data_dir: string, agent = localAgent): string =>
  join(data_dir, ownAgents.find((own) => own.agent === agent)!.file)

/** The token of an agent of the data directory, or null if there is none. */
export async function readToken(data_dir: string, agent = localAgent): Promise<string | null> {
  try {
    const token = (await readFile(tokenPath(data_dir, agent), 'utf8')).trim()
    return token === '' ? null : token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The token of an agent; it is made if its file does not exist. */
async function openToken(data_dir: string, agent: string): Promise<string | null> {
  const token = await readToken(data_dir, agent)
  if (token !== null) return token
  const path = tokenPath(data_dir, agent)
  // Written whole under another name, then linked: of two servers that start together, one makes the token and both read it.
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  // Hexadecimal: no token looks like a flag of a command.
  await writeFile(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    await link(fresh, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(fresh)
  }
  return readToken(data_dir, agent)
}

/** The credentials of the agents of a data directory. @throws Error if a token is too short */
export async function ownCredentials(data_dir: string): Promise<Credential[]> {
  const entries = []
  for (const { agent, scopes } of ownAgents)
    entries.push({ agent, scopes, token: (await openToken(data_dir, agent)) ?? '' })
  return parseTokens(entries)
}
