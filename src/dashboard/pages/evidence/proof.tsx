/** The proof that an event is in the signed log: the path of hashes from the event to the root. */
import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { Field, Form } from '../../form.tsx'
import { addressOf, go, type Place, useArrival } from '../../route.tsx'
import { service } from '../../service.ts'
import { Empty, Panel, Term } from '../../ui.tsx'

export function Proof({ place }: { place: Place }) {
  const box = useArrival<HTMLDivElement>(place.query.get('proof') ?? '')
  const seq = Number.parseInt(place.query.get('proof') ?? '', 10)
  // Rebuilt only when the address changes: what is being typed stays while an answer comes in.
  const asked = useMemo(
    () => (
      <Form
        class="bar"
        submit={(read) => go(addressOf(place.path, { ...Object.fromEntries(place.query), proof: read('seq') }))}
      >
        <Field
          label="Number of the event"
          name="seq"
          type="number"
          min="1"
          step="1"
          required
          value={seq > 0 ? seq : ''}
        />
        <button type="submit">Prove it</button>
      </Form>
    ),
    [place.query.toString()],
  )
  return (
    <Panel
      title="Proof of one event"
      lead={
        <>
          The <Term name="proof">proof</Term> is recomputed here, in your browser.
        </>
      }
      wide
    >
      {asked}
      <div ref={box} tabIndex={-1}>
        {seq > 0 ? (
          <Path seq={seq} />
        ) : (
          <Empty>Enter the number of an event, or choose an event from the list below.</Empty>
        )}
      </div>
    </Panel>
  )
}

/** The path of one event to the signed root. */
export function Path({ seq }: { seq: number }) {
  const loaded = useCall(String(seq), async (signal) => {
    const proof = await service.getInclusionProof({ seq }, { signal })
    return { proof, steps: await walk(proof) }
  })
  return (
    <Show of={loaded}>
      {({ proof, steps }) => (
        <>
          {steps && (
            <p class={`notice ${steps.at(-1)?.hash === proof.root_hash ? 'good' : 'bad'}`} role="status">
              {steps.at(-1)?.hash === proof.root_hash
                ? `Event ${seq} is in the log of ${whole(proof.size)} records: the path ends at the signed root.`
                : 'The path does not end at the signed root: this event is not the one that the log signed.'}
            </p>
          )}
          {!steps && (
            <p class="notice">Browsers compute hashes only over TLS or on localhost. The path is shown unchecked.</p>
          )}
          <ol class="path">
            <li>
              leaf of event {seq}: <code>{proof.leaf_hash}</code>
            </li>
            {(steps ?? []).slice(1).map(({ side, sibling, hash }: Step, at) => (
              <li key={hash + String(at)}>
                with <code>{sibling}</code> on the {side}: <code>{hash}</code>
              </li>
            ))}
            {!steps &&
              proof.hashes.map((hash) => (
                <li key={hash}>
                  <code>{hash}</code>
                </li>
              ))}
            <li>
              root of {whole(proof.size)} records: <code>{proof.root_hash}</code>
            </li>
          </ol>
          {proof.checkpoint && (
            <details>
              <summary>Signed checkpoint</summary>
              <pre tabIndex={0}>{proof.checkpoint}</pre>
            </details>
          )}
        </>
      )}
    </Show>
  )
}

/** A step of a recomputed inclusion proof. @see RFC 9162, section 2.1.3.2 */
interface Step {
  /** Side of the sibling; null at the leaf. */
  side: 'left' | 'right' | null
  sibling: string | null
  hash: string
}

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const hexOf = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

async function sha256(...parts: (number | string)[]): Promise<string> {
  const bytes = parts.flatMap((part) => (typeof part === 'number' ? [part] : [...bytesOf(part)]))
  return hexOf(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes)))
}

/**
 * The hashes from the leaf to the root, computed from the record's own hash; null if the browser computes none.
 * @throws Error if the proof has more or fewer hashes than a tree of that size
 */
async function walk(proof: {
  record_hash: string
  index: number
  size: number
  hashes: string[]
}): Promise<Step[] | null> {
  if (crypto.subtle === undefined) return null
  let [node, last] = [proof.index, proof.size - 1]
  const steps: Step[] = [{ side: null, sibling: null, hash: await sha256(0, proof.record_hash) }]
  for (const sibling of proof.hashes) {
    if (last === 0) throw new Error('The proof is longer than its tree is high.')
    const below = steps.at(-1)!.hash
    const left = node % 2 === 1 || node === last
    steps.push({
      side: left ? 'left' : 'right',
      sibling,
      hash: await (left ? sha256(1, sibling, below) : sha256(1, below, sibling)),
    })
    if (left)
      while (node % 2 === 0 && node !== 0) {
        node = Math.floor(node / 2)
        last = Math.floor(last / 2)
      }
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0) throw new Error('The proof is shorter than its tree is high.')
  return steps
}
