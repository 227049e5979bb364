/** How fresh a page is: all of its answers are asked for again while it is live, and one control says when they came. */
import { useEffect, useState } from 'preact/hooks'
import { clock } from './figures.ts'
import { texts } from './texts.ts'

/** Asks again without a sign of loading. @throws if it fails; the former answer stays */
type Refresh = () => Promise<void>
const asking = new Set<Refresh>()

/** An answer that is asked for again with the page, as long as it is shown. */
export function useRefresh(refresh: Refresh): void {
  useEffect(() => {
    asking.add(refresh)
    return () => {
      asking.delete(refresh)
    }
  })
}

/** Asks for everything on the page again, after something was changed. */
export const refreshPage = (): void => void Promise.allSettled([...asking].map((refresh) => refresh()))

const t = texts.fresh
const kept = 'cstp:paused'

/** @param every_s how long a live page waits until it asks again */
export function Freshness({ every_s }: { every_s: number }) {
  const [live, setLive] = useState(() => sessionStorage.getItem(kept) === null)
  const [state, setState] = useState({ at: Date.now(), failed: false, busy: false })
  const reload = async () => {
    setState((before) => ({ ...before, busy: true }))
    const answers = await Promise.allSettled([...asking].map((refresh) => refresh()))
    const failed = answers.some(({ status }) => status === 'rejected')
    setState((before) => ({ at: failed ? before.at : Date.now(), failed, busy: false }))
  }
  useEffect(() => {
    if (!live || state.busy) return
    // A page in the background is not updated, and one that comes to the front is at once.
    const timer = setTimeout(() => !document.hidden && void reload(), every_s * 1_000)
    const seen = () => !document.hidden && void reload()
    document.addEventListener('visibilitychange', seen)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', seen)
    }
  }, [live, state, every_s])
  const turn = () => {
    if (live) sessionStorage.setItem(kept, '1')
    else sessionStorage.removeItem(kept)
    setLive(!live)
    if (!live) void reload()
  }
  return (
    <div class="fresh">
      <span class={state.failed ? 'stale' : 'quiet'}>
        {state.failed ? t.failed(clock(state.at)) : live ? t.live(every_s) : t.paused(clock(state.at))}
      </span>
      <button type="button" aria-pressed={!live} onClick={turn}>
        {live ? t.pause : t.resume}
      </button>
      <button type="button" onClick={() => void reload()} aria-disabled={state.busy}>
        {t.reload}
      </button>
    </div>
  )
}
