/** The token of agent `local`, made at the first start where no credentials are configured. */
import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Credential, parseTokens } from './caller.ts'

export const localAgent = 'local'
export const tokenPath = (data_dir: string): string => join(data_dir, 'token')

/** The token in the data directory, or null where there is none. */
export async function readToken(data_dir: string): Promise<string | null> {
  try {
    const token = (await readFile(tokenPath(data_dir), 'utf8')).trim()
    return token === '' ? null : token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The credentials of agent `local`; its token is made where the file does not exist yet. */
export async function localCredentials(data_dir: string): Promise<Credential[]> {
  let token = await readToken(data_dir)
  if (token === null) {
    // Written whole under another name, then linked: of two servers that start together, one makes the token and both read it.
    const fresh = join(data_dir, `token.${process.pid}.${randomBytes(4).toString('hex')}.tmp`)
    await writeFile(fresh, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true })
    try {
      await link(fresh, tokenPath(data_dir))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      await rm(fresh)
    }
    token = await readToken(data_dir)
  }
  return parseTokens(`${localAgent}:${token}`).map((one) => ({ ...one, scopes: undefined }))
}
