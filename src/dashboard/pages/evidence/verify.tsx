/** Verification of the chain: the button, how far it is, and what it found. */
import { useEffect, useState } from 'preact/hooks'
import type { GetVerificationResult, VerifyEvidenceChainResult } from '../../../../sdk/client.ts'
import { Failure } from '../../call.tsx'
import { counted, time, whole } from '../../figures.ts'
import { service } from '../../service.ts'
import { Act } from '../../ui.tsx'

const everyMs = 300

/** What the server tells of its walks: once, and again and again while one is under way. */
function useWalk(asked: boolean): { walk: GetVerificationResult | null; error: unknown } {
  const [state, setState] = useState<{ walk: GetVerificationResult | null; error: unknown }>({
    walk: null,
    error: null,
  })
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () =>
      service.getVerification({}, { signal: stop.signal }).then(
        (walk) => {
          if (stop.signal.aborted) return
          setState({ walk, error: null })
          if (asked || walk.running) timer = setTimeout(look, everyMs)
        },
        (error: unknown) => !stop.signal.aborted && setState({ walk: null, error }),
      )
    void look()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [asked])
  return state
}

function Progress({ walk, size }: { walk: GetVerificationResult | null; size: number }) {
  // Where several servers share the log, another one may be the one that walks: then nothing is known of how far it is.
  if (!walk?.running || walk.total === null || walk.records === null)
    return (
      <>
        <progress aria-label="Verification" />
        <p class="unseen" role="status">
          Verifying {counted(size, 'record')}
        </p>
      </>
    )
  const tenths = walk.total === 0 ? 10 : Math.floor((10 * walk.records) / walk.total)
  return (
    <>
      <progress aria-label="Verification" value={walk.records} max={walk.total} />
      <p class="quiet">
        {whole(walk.records)} of {counted(walk.total, 'record')}
      </p>
      <p class="unseen" role="status">
        {tenths * 10} % verified
      </p>
    </>
  )
}

function Found({ result }: { result: VerifyEvidenceChainResult }) {
  return (
    <p class={`notice ${result.intact ? 'good' : 'bad'}`}>
      <strong>{result.intact ? 'Intact.' : 'Not intact.'}</strong> {counted(result.records, 'record')} follow each other
      without a gap. {result.broken_at_seq !== null && `Record ${result.broken_at_seq} does not follow. `}
      {result.reason}
      {result.intact && result.tail_check && ' The head that was exported last stands in it.'}
    </p>
  )
}

/** What the server found before this page was opened. */
const Before = ({ latest }: { latest: NonNullable<GetVerificationResult['latest']> }) => (
  <p class={latest.intact ? 'quiet' : 'notice bad'}>
    {latest.intact ? 'Intact' : 'Not intact'} when this server walked it last, {time(latest.finished_at)}:{' '}
    {counted(latest.records, 'record')}. {latest.reason}
  </p>
)

export function Verify({ size }: { size: number }) {
  const [result, setResult] = useState<VerifyEvidenceChainResult | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [asked, setAsked] = useState(false)
  const { walk, error: unknown } = useWalk(asked)
  const busy = asked || walk?.running === true
  const verify = () => {
    setAsked(true)
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
      .finally(() => setAsked(false))
  }
  return (
    <>
      <Act busy={asked} onClick={verify} main>
        {asked ? 'Verifying …' : 'Verify the chain'}
      </Act>
      {busy && <Progress walk={walk} size={size} />}
      {unknown !== null && <Failure error={unknown} />}
      <div aria-live="polite">
        {error !== null && <Failure error={error} />}
        {result && <Found result={result} />}
      </div>
      {!busy && !result && error === null && walk?.latest && <Before latest={walk.latest} />}
    </>
  )
}
