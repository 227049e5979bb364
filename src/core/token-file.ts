/** The tokens of the agents `local` and `admin`, created at the first start if no credentials are configured. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Credential, parseTokens, type Scope } from './caller.ts'
import { createFile, textAt } from './disk.ts'

export const localAgent = 'local'
export const adminAgent = 'admin'

/** The agents of a data directory. Models get the token of `local`; that of `admin` is for people. */
export const ownAgents: readonly { agent: string; file: string; scopes: readonly Scope[] }[] = [
  { agent: localAgent, file: 'token', scopes: ['read', 'write'] },
  { agent: adminAgent, file: 'admin.token', scopes: ['read', 'write', 'curate', 'approve', 'admin'] },
]

/** Path of the token file of a data directory's agent. */
export const tokenPath = (data_dir: string, agent = localAgent): string =>
  join(data_dir, ownAgents.find((own) => own.agent === agent)!.file)

/** The token of a data directory's agent; null if there is none. */
export async function readToken(data_dir: string, agent = localAgent): Promise<string | null> {
  return (await textAt(tokenPath(data_dir, agent)))?.trim() || null
}

/** A new token. Its prefix lets the masks of secrets know it, and it never looks like a flag. */
export const newToken = (): string => `cstp_${randomBytes(32).toString('hex')}`

/** Reads the token of an agent, creating it if its file does not exist. */
async function openToken(data_dir: string, agent: string): Promise<string | null> {
  const token = await readToken(data_dir, agent)
  if (token !== null) return token
  await createFile(tokenPath(data_dir, agent), `${newToken()}\n`)
  return readToken(data_dir, agent)
}

/** The credentials of a data directory's agents. @throws Error if a token is too short */
export async function ownCredentials(data_dir: string): Promise<Credential[]> {
  const entries = []
  for (const { agent, scopes } of ownAgents)
    entries.push({ agent, scopes, token: (await openToken(data_dir, agent)) ?? '' })
  return parseTokens(entries)
}
