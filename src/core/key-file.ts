/** Ed25519 keys in files: PKCS#8 in PEM, created if missing. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createFile } from './disk.ts'
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
  if (missing) await createFile(path, newKey())
  return readKey(path, what)
}

const newKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
