/** The proof that an event is in the signed log: the path of hashes from the event to the root. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { Field, Form } from '../../form.tsx'
import { type Step, walk } from '../../merkle.ts'
import { goWith, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Empty, Panel, term } from '../../ui.tsx'

const t = texts.proof

export function Proof() {
  const { place } = useView()
  const box = useRef<HTMLDivElement>(null)
  const seq = Number.parseInt(place.query.get('proof') ?? '', 10)
  // A link to an event leads to its proof, also when the panel is shown for the first time.
  useLayoutEffect(() => {
    if (seq > 0) box.current?.focus()
  }, [seq])
  // Rebuilt only when the address changes, so that an arriving answer does not discard typed text.
  const asked = useMemo(
    () => (
      <Form class="bar" submit={(read) => goWith(place, { proof: read('seq') })}>
        <Field label={t.number} name="seq" type="number" min="1" step="1" required value={seq > 0 ? seq : ''} />
        <button type="submit">{t.proveIt}</button>
      </Form>
    ),
    [place.query.toString()],
  )
  return (
    <Panel title={t.title} lead={t.lead(term('proof'))}>
      {asked}
      <div ref={box} tabIndex={-1}>
        {seq > 0 ? <Path seq={seq} /> : <Empty>{t.empty}</Empty>}
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
          {steps ? (
            <p class={`notice ${steps.at(-1)?.hash === proof.root_hash ? 'good' : 'bad'}`} role="status">
              {steps.at(-1)?.hash === proof.root_hash ? t.proved(seq, whole(proof.size)) : t.notProved}
            </p>
          ) : (
            <p class="notice">{t.unchecked}</p>
          )}
          <ol class="path">
            <li>
              {t.leaf(seq)} <code>{proof.leaf_hash}</code>
            </li>
            {(steps ?? []).slice(1).map(({ side, sibling, hash }: Step, at) => (
              <li key={hash + String(at)}>{t.step(<code>{sibling}</code>, side ?? '', <code>{hash}</code>)}</li>
            ))}
            {!steps &&
              proof.hashes.map((hash) => (
                <li key={hash}>
                  <code>{hash}</code>
                </li>
              ))}
            <li>
              {t.root(whole(proof.size))} <code>{proof.root_hash}</code>
            </li>
          </ol>
          {proof.checkpoint && (
            <details>
              <summary>{t.checkpoint}</summary>
              <pre tabIndex={0}>{proof.checkpoint}</pre>
            </details>
          )}
        </>
      )}
    </Show>
  )
}
