/** Keys and policies given on the command line. */
import { readFile, stat } from 'node:fs/promises'
import { NoteFormError, type NoteKey, readKey } from '../verify/note.ts'
import { type Policy, PolicyFormError, readPolicy } from '../verify/policy.ts'
import { misuse } from './failure.ts'

const maxKeyFileBytes = 4_096
const maxPolicyBytes = 1_048_576

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
  try {
    const key = readKey(text)
    if (key.kind !== kind)
      throw misuse(`--${flag}: ${key.name} is the key of a ${key.kind}, expected that of a ${kind}`)
    return key
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    throw misuse(`--${flag}: ${error.message}`)
  }
}

/** The policy in a file. @throws Failure naming the flag and the invalid line */
export async function openPolicy(flag: 'policy' | 'logs', path: string): Promise<Policy> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile() || found.size > maxPolicyBytes) throw misuse(`--${flag}: ${path} is not a file with a policy`)
  try {
    return readPolicy(await readFile(path, 'utf8'))
  } catch (error) {
    if (!(error instanceof PolicyFormError)) throw error
    throw misuse(`--${flag}: ${path}, ${error.message}`)
  }
}
