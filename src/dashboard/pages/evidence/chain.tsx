/** The state of the chain: how long it is, who signed for it, and whether every record still follows the one before. */
import { useState } from 'preact/hooks'
import type { VerifyEvidenceChainResult } from '../../../../sdk/client.ts'
import { Failure, Show, useCall } from '../../call.tsx'
import { counted, time, whole } from '../../figures.ts'
import { service } from '../../service.ts'
import { Panel, Term } from '../../ui.tsx'

export function Chain() {
  const loaded = useCall('checkpoint', (signal) => service.getCheckpoint({}, { signal }))
  const [result, setResult] = useState<VerifyEvidenceChainResult | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const verify = () => {
    setBusy(true)
    setResult(null)
    service
      .verifyEvidenceChain({}, { timeoutMs: 0 })
      .then(
        (answer) => {
          setResult(answer)
          setError(null)
        },
        (failed) => setError(failed),
      )
      .finally(() => setBusy(false))
  }
  return (
    <Panel title="Chain" wide>
      <Show of={loaded}>
        {({ origin, size, root_hash, note, verifier_key, created_at }) => (
          <>
            <p>
              <strong>{counted(size, 'record')}</strong>, each with the hash of the one before it.
            </p>
            <button type="button" class="main" onClick={verify} disabled={busy}>
              {busy ? 'Verifying …' : 'Verify the chain'}
            </button>
            <div aria-live="polite">
              {busy && <progress aria-label={`Verifying ${whole(size)} records`} />}
              {error !== null && <Failure error={error} />}
              {result && (
                <p class={`notice ${result.intact ? 'good' : 'bad'}`}>
                  <strong>{result.intact ? 'Intact.' : 'Not intact.'}</strong> {counted(result.records, 'record')}{' '}
                  follow each other without a gap.{' '}
                  {result.broken_at_seq !== null && `Record ${result.broken_at_seq} does not follow. `}
                  {result.reason}
                  {result.intact && result.tail_check && ' The head that was exported last stands in it.'}
                </p>
              )}
            </div>
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
