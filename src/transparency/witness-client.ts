/** Sends checkpoints of a log to a witness, which cosigns them. @see C2SP tlog-witness, "add-checkpoint" */
import type { Published } from '../domain/ledger/thread/receipts.ts'
import { readNote, signedBy } from '../verify/note.ts'
import type { KnownWitness } from '../verify/policy.ts'
import { readText } from './reader.ts'

/** The witness did not cosign: it could not be reached, or refused. */
export class NotCosigned extends Error {
  override name = 'NotCosigned'
}

export interface WitnessClient {
  /** Name in the policy. */
  name: string
  /** The witness's signature lines under a checkpoint. @throws NotCosigned */
  cosign(checkpoint: Published, stop: AbortSignal): Promise<string>
}

const timeout_ms = 10_000
const maxAnswerBytes = 65_536
/** The answer to the first attempt contains the witness's size; another server of the same log may get ahead before the second. */
const maxAttempts = 3

/** @param prove hashes by which the tree of `size` extends that of `old_size`, lowercase hex */
export function witnessClient(
  { name, key, url }: KnownWitness & { url: string },
  prove: (old_size: number, size: number) => Promise<string[]>,
): WitnessClient {
  const address = `${url.replace(/\/$/, '')}/add-checkpoint`
  /** The size that the witness cosigned last, as far as this client knows. */
  let known = 0

  async function send(body: string, stop: AbortSignal): Promise<{ status: number; text: string }> {
    try {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(timeout_ms)])
      const response = await fetch(address, { method: 'POST', body, redirect: 'error', signal })
      return { status: response.status, text: await readText(response, maxAnswerBytes) }
    } catch (error) {
      throw new NotCosigned(`the witness ${name} can't be reached: ${(error as Error).message}`)
    }
  }

  return {
    name,
    async cosign({ size, note }, stop) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const proof = (await prove(known, size)).map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`)
        const { status, text } = await send(`old ${known}\n${proof.join('')}\n${note}`, stop)
        if (status === 200) {
          known = size
          return cosignatureIn(text, note, { name, key })
        }
        // A 409 without a size reports a contradiction.
        if (status !== 409 || !/^\d/.test(text))
          throw new NotCosigned(`the witness ${name} refused with ${status}: ${text.slice(0, 200).trim()}`)
        const cosigned = /^(?:0|[1-9]\d{0,15})\n$/.test(text) ? Number(text) : Number.NaN
        if (!(cosigned <= size))
          throw new NotCosigned(`the witness ${name} has cosigned another size: ${text.slice(0, 40).trim()}`)
        known = cosigned
      }
      throw new NotCosigned(`the witness ${name} is ahead each time: other servers of this log send to it`)
    },
  }
}

/** The lines of an answer that the witness's key signed; lines of unknown keys are ignored. */
function cosignatureIn(answer: string, note: string, { name, key }: Pick<KnownWitness, 'name' | 'key'>): string {
  for (const line of answer.split('\n')) {
    try {
      const signed = signedBy(readNote(`${note}${line}\n`), key)
      if (signed !== 'no' && signed !== 'wrong') return `${line}\n`
    } catch {
      // A line that is not a signature.
    }
  }
  throw new NotCosigned(`the answer of the witness ${name} has no valid cosignature of its key`)
}
