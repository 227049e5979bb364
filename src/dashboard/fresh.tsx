/** Freshness of a page: a live page repeats all of its calls, and one control shows when they were last answered. */
import { useEffect, useState } from 'preact/hooks'
import { clock, cut, time } from './figures.ts'
import { texts } from './texts.ts'

/** Repeats a call without showing a loading state. @throws if it fails; the previous answer stays */
type Refresh = () => Promise<void>
const asking = new Set<Refresh>()

/** Registers an answer to be reloaded with the page, as long as it is shown. */
export function useRefresh(refresh: Refresh): void {
  useEffect(() => {
    asking.add(refresh)
    return () => {
      asking.delete(refresh)
    }
  })
}

/** Reloads everything on the page, such as after a change. */
export const refreshPage = () => Promise.allSettled([...asking].map((refresh) => refresh()))

const t = texts.fresh
const kept = 'cstp:paused'

/** @param every_s seconds between reloads of a live page */
export function Freshness({ every_s }: { every_s: number }) {
  const [live, setLive] = useState(() => sessionStorage.getItem(kept) === null)
  const [state, setState] = useState({ at: Date.now(), failed: false, busy: false })
  const reload = async () => {
    setState((before) => ({ ...before, busy: true }))
    const answers = await refreshPage()
    const failed = answers.some(({ status }) => status === 'rejected')
    setState((before) => ({ at: failed ? before.at : Date.now(), failed, busy: false }))
  }
  useEffect(() => {
    if (!live || state.busy) return
    // A page in the background is not updated; one that comes to the front is updated immediately.
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
      <span class="paper">{t.paper(time(new Date(state.at).toISOString()), cut(location.href, 200))}</span>
      <button type="button" aria-pressed={!live} onClick={turn}>
        {live ? t.pause : t.resume}
      </button>
      <button type="button" onClick={() => void reload()} aria-disabled={state.busy}>
        {t.reload}
      </button>
    </div>
  )
}
