/** Ed25519 keys in files: PKCS#8 in PEM, created if missing. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { causeOf } from './log.ts'

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code

/**
 * Reads a key. Errors never contain any part of the key.
 * @param what names the key in errors: the setting or the flag
 * @throws Error with `what`, the path, and what was expected
 */
export async function readKey(path: string, what: string): Promise<KeyObject> {
  // If someone passes the key itself here, keep it out of the log.
  if (path.includes('-----BEGIN'))
    throw new Error(`${what}: expected the path of a file, received a key; it is not shown`)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`${what}: the file ${path} can't be read: ${causeOf(error)}`)
  })
  let key: KeyObject | null = null
  try {
    key = createPrivateKey(text)
  } catch (error) {
    // The library's message may quote the text.
    if (isCode(error, 'ERR_MISSING_PASSPHRASE'))
      throw new Error(`${what}: the key in ${path} is encrypted; expected one without a passphrase`)
  }
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new Error(`${what}: expected an Ed25519 private key in ${path}, PKCS#8 in PEM`)
  return key
}

/** Reads a key, creating it first if the file does not exist. @throws as {@link readKey} */
export async function ownKey(path: string, what: string): Promise<KeyObject> {
  const missing = await readFile(path).then(
    () => false,
    (error) => isCode(error, 'ENOENT'),
  )
  if (missing) await makeKey(path)
  return readKey(path, what)
}

async function makeKey(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  // Written to a temporary file, then linked: if two processes start together, only one creates the key and both read it.
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFile(fresh, pem, { mode: 0o600, flush: true })
  try {
    await link(fresh, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    await rm(fresh)
  }
}
