/** Keys and policies given on the command line. */
import { readFile, stat } from 'node:fs/promises'
import { NoteFormError, type NoteKey, readKey } from '../verify/note.ts'
import { type Policy, PolicyFormError, readPolicy } from '../verify/policy.ts'
import { misuse } from './failure.ts'

const maxKeyFileBytes = 4_096
const maxPolicyBytes = 1_048_576

/** Reads what a flag gives. @throws Failure naming the flag, for errors of this kind */
export function readAs<T>(prefix: string, kind: abstract new (...args: never) => Error, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof kind) throw misuse(`${prefix} ${error.message}`)
    throw error
  }
}

/** The text of a file given by a flag. @param what the file should be @throws Failure if it is not a file, or too long */
export async function readGiven(flag: string, path: string, maxBytes: number, what: string): Promise<string> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile() || found.size > maxBytes) throw misuse(`--${flag}: ${path} is not ${what}`)
  return readFile(path, 'utf8')
}

/** A key given as text or as a file. */
export async function openKey(
  flag: 'key' | 'witness',
  kind: NoteKey['kind'],
  given: string | undefined,
): Promise<NoteKey | null> {
  if (given === undefined) return null
  const found = await stat(given).catch(() => null)
  if (found?.isFile() && found.size > maxKeyFileBytes) throw misuse(`--${flag}: ${given} is too long for a key`)
  const text = found?.isFile() ? await readFile(given, 'utf8') : given
  const key = readAs(`--${flag}:`, NoteFormError, () => readKey(text))
  if (key.kind !== kind) throw misuse(`--${flag}: ${key.name} is the key of a ${key.kind}, expected that of a ${kind}`)
  return key
}

/** The policy in a file. @throws Failure naming the flag and the invalid line */
export async function openPolicy(flag: 'policy' | 'logs', path: string): Promise<Policy> {
  const text = await readGiven(flag, path, maxPolicyBytes, 'a file with a policy')
  return readAs(`--${flag}: ${path},`, PolicyFormError, () => readPolicy(text))
}
