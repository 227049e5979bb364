/** Verification of the chain: the button, its progress, and its result. */
import { useEffect, useState } from 'preact/hooks'
import type { GetVerificationResult, VerifyEvidenceChainResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { time, whole } from '../../figures.ts'
import { Act } from '../../form.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'

const t = texts.verify

const everyMs = 300

/** The server's verification: fetched once, and repeatedly while one is running. */
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
  // If several servers share the log, another one may be verifying it: then its progress is unknown.
  if (!walk?.running || walk.total === null || walk.records === null)
    return (
      <>
        <progress aria-label={t.verification} />
        <p class="unseen" role="status">
          {t.verifying(texts.amount.record(size))}
        </p>
      </>
    )
  const tenths = walk.total === 0 ? 10 : Math.floor((10 * walk.records) / walk.total)
  return (
    <>
      <progress aria-label={t.verification} value={walk.records} max={walk.total} />
      <p class="quiet">{t.of(whole(walk.records), texts.amount.record(walk.total))}</p>
      <p class="unseen" role="status">
        {t.verified(tenths * 10)}
      </p>
    </>
  )
}

function Found({ result }: { result: VerifyEvidenceChainResult }) {
  return (
    <p class={`notice ${result.intact ? 'good' : 'bad'}`}>
      <strong>{result.intact ? t.intact : t.notIntact}</strong> {t.follow(texts.amount.record(result.records))}{' '}
      {result.broken_at_seq !== null && t.breaksAt(result.broken_at_seq)}
      {result.reason}
      {result.intact && result.tail_check && t.containsHead}
    </p>
  )
}

/** The latest verification by the server, before this page was opened. */
const Last = ({ latest }: { latest: NonNullable<GetVerificationResult['latest']> }) => (
  <p class={latest.intact ? 'quiet' : 'notice bad'}>
    {t.lastVerified(time(latest.finished_at), texts.amount.record(latest.records), latest.intact)} {latest.reason}
  </p>
)

export function Verify({ size }: { size: number }) {
  const { result, error, busy: asked, run } = useJob<VerifyEvidenceChainResult>()
  const { walk, error: unknown } = useWalk(asked)
  const busy = asked || walk?.running === true
  return (
    <>
      <Act busy={asked} onClick={() => run(() => service.verifyEvidenceChain({}, { timeoutMs: 0 }))} main>
        {asked ? 'Verifying …' : t.start}
      </Act>
      {busy && <Progress walk={walk} size={size} />}
      {unknown !== null && <Failure error={unknown} />}
      <div aria-live="polite">
        {error !== null && <Failure error={error} />}
        {!asked && result && <Found result={result} />}
      </div>
      {!busy && !result && error === null && walk?.latest && <Last latest={walk.latest} />}
    </>
  )
}
