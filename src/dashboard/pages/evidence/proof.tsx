/** The proof that an event is in the signed log: the path of hashes from the event to the root. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { Field, Form } from '../../form.tsx'
import { type Step, walk } from '../../merkle.ts'
import { addressOf, go, type Place } from '../../route.tsx'
import { service } from '../../service.ts'
import { Empty, Panel, Term } from '../../ui.tsx'

export function Proof({ place }: { place: Place }) {
  const box = useRef<HTMLDivElement>(null)
  const seq = Number.parseInt(place.query.get('proof') ?? '', 10)
  // Who follows a link to an event wants its proof, also where it is shown for the first time.
  useLayoutEffect(() => {
    if (seq > 0) box.current?.focus()
  }, [seq])
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
