/** The state of the chain: how long it is, who signed for it, and whether every record still follows the one before. */
import { Show, useCall } from '../../call.tsx'
import { counted, time } from '../../figures.ts'
import { service } from '../../service.ts'
import { Panel, Term } from '../../ui.tsx'
import { Verify } from './verify.tsx'

export function Chain() {
  const loaded = useCall('checkpoint', (signal) => service.getCheckpoint({}, { signal }))
  return (
    <Panel title="Chain" wide>
      <Show of={loaded}>
        {({ origin, size, root_hash, note, verifier_key, created_at }) => (
          <>
            <p>
              <strong>{counted(size, 'record')}</strong>, each with the hash of the one before it.
            </p>
            <Verify size={size} />
            <details>
              <summary>Checkpoint and public key</summary>
              <p>
                A <Term name="checkpoint">checkpoint</Term> of <code>{origin}</code>, signed {time(created_at)}. Keep
                it: with it anybody can prove later that nothing before it was changed.
              </p>
              <pre tabIndex={0}>{note}</pre>
              <p>Verifier key, also at /.well-known/cstp-evidence-key:</p>
              <pre tabIndex={0}>{verifier_key}</pre>
              <p>
                Root hash: <code>{root_hash}</code>
              </p>
            </details>
          </>
        )}
      </Show>
    </Panel>
  )
}
