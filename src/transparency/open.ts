/** Witnesses for the command line: keys from files and texts, and one check of a log. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../core/disk.ts'
import { ownKey } from '../core/key-file.ts'
import { fingerprint, type NoteError, parseVerifier, type Verifier, verifierOf } from '../domain/ledger/engine/note.ts'
import { openLatest } from './latest.ts'
import { logReader } from './reader.ts'
import { createWitnessHandler, type Handled, maxBodyBytes } from './serve.ts'
import { type Look, look, type Witness } from './witness.ts'

/** A verifier key, or the file that contains it. @throws Error saying what was expected */
export async function readVerifier(given: string): Promise<Verifier> {
  try {
    return parseVerifier(given)
  } catch (error) {
    const text = await readFile(given, 'utf8').catch(() => null)
    if (text === null) throw new Error(`--key: ${(error as NoteError).message}, or a file that contains one`)
    try {
      return parseVerifier(text)
    } catch (inFile) {
      throw new Error(`--key: ${given}: ${(inFile as NoteError).message}`)
    }
  }
}

/**
 * Opens the witness of a state folder. Its key is generated at the first start; its verifier key is stored next to it in `witness.pub`.
 * @param input.key_path file of its key, by default `witness.pem` of the folder
 * @param input.name by default derived from the key
 * @throws Error for an invalid key, NoteError for an invalid name
 */
export async function openWitness(input: {
  state_dir: string
  key_path: string | undefined
  name: string | undefined
}): Promise<Witness> {
  const { state_dir, key_path, name } = input
  const key = await ownKey(key_path ?? join(state_dir, 'witness.pem'), '--witness-key')
  const verifier = verifierOf(name ?? `cstp-witness/${fingerprint(key)}`, 'cosignature', key)
  await replaceFile(join(state_dir, 'witness.pub'), `${verifier.text}\n`)
  return { verifier, key, state_dir, latest: await openLatest(state_dir), now: Date.now }
}

/** Checks the log of a server once. @throws as `look` of `witness.ts` */
export const lookAt = (witness: Witness, url: string, key: Verifier | null, signal: AbortSignal): Promise<Look> =>
  look(witness, logReader(url, signal), key)

interface ServingWitness {
  url: string
  verifier_key: string
  stop(): Promise<void>
}

/** Starts a witness that other logs send their checkpoints to. @param input.logs verifier keys of the logs */
export async function serveWitness(input: {
  host: string
  port: number
  state_dir: string
  key_path: string | undefined
  name: string | undefined
  logs: readonly string[]
  handled(what: Handled): void
}): Promise<ServingWitness> {
  const { host, port, logs, handled, ...own } = input
  const { verifier, key, latest, now } = await openWitness(own)
  const handle = createWitnessHandler({ verifier, key, logs: logs.map(parseVerifier), latest, now, handled })
  const server = Bun.serve({
    hostname: host,
    port,
    maxRequestBodySize: maxBodyBytes,
    fetch: handle,
    error: (error) => {
      handled({ status: 500, origin: null, size: null, message: error.message })
      return new Response('internal error\n', { status: 500 })
    },
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    verifier_key: verifier.text,
    async stop() {
      await server.stop()
      latest.close()
    },
  }
}
