/** Data of the service in a page: loaded when its key changes, and shown with loading state and errors. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isCstpError } from '../../sdk/client.ts'
import { useRefresh } from './fresh.tsx'
import { explain, onLogin } from './service.ts'
import { texts } from './texts.ts'

const t = texts.call

export interface Loaded<T> {
  data: T | null
  /** Whether `data` is an answer, which may be null itself. */
  answered: boolean
  error: unknown
  /** True while an answer is awaited; `data` is the previous one. */
  busy: boolean
  again(): void
}

/** @param key what the answer depends on; the call is repeated when this text changes */
export function useCall<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'again'>>({
    data: null,
    answered: false,
    error: null,
    busy: true,
  })
  const answer = (data: T) => ({ data, answered: true, error: null, busy: false })
  const [count, setCount] = useState(0)
  const again = () => setCount((before) => before + 1)
  const place = useRef({ key, count })
  place.current = { key, count }
  useRefresh(async () => {
    const { current } = place
    const data = await ask(new AbortController().signal)
    // An answer requested meanwhile is newer.
    if (place.current.key === current.key && place.current.count === current.count)
      setState((before) => (before.busy ? before : answer(data)))
  })
  useEffect(() => {
    // A call that failed because the session had ended is repeated in the next session.
    if (state.error !== null) return onLogin(again)
  }, [state.error])
  useEffect(() => {
    const stop = new AbortController()
    setState((before) => ({ ...before, busy: true }))
    ask(stop.signal).then(
      (data) => !stop.signal.aborted && setState(answer(data)),
      (error) => !stop.signal.aborted && setState({ data: null, answered: false, error, busy: false }),
    )
    return () => stop.abort()
  }, [key, count])
  return { ...state, again }
}

/** Runs an action of the user, one at a time, and keeps its result or its error. */
export function useJob<T>() {
  const [state, setState] = useState<{ result: T | null; error: unknown }>({ result: null, error: null })
  const [busy, setBusy] = useState(false)
  // Two clicks may arrive before the page is rendered again.
  const running = useRef(false)
  const run = (work: () => Promise<T>): void => {
    if (running.current) return
    running.current = true
    setBusy(true)
    work()
      .then(
        (result) => setState({ result, error: null }),
        (error) => setState({ result: null, error }),
      )
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }
  /** Shows an error in addition to the result. */
  const fail = (error: unknown): void => setState((before) => ({ ...before, error }))
  return { ...state, busy, run, fail }
}

/** An error, and the button to try again. */
export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <p>{explain(error)}</p>
      {again && !isCstpError(error, 'forbidden') && (
        <button type="button" onClick={again}>
          {t.again}
        </button>
      )}
    </div>
  )
}

/** Shows an answer once it is loaded. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const failed = of.error !== null
  const trying = useRef(false)
  useLayoutEffect(() => {
    // The retry button is gone: the focus moves to the answer before the next paint.
    if (!failed && trying.current) box.current?.focus()
    trying.current = false
  }, [failed])
  const again = () => {
    trying.current = true
    of.again()
  }
  return (
    <div class="shown" aria-busy={of.busy} tabIndex={-1} ref={box}>
      {failed ? (
        <Failure error={of.error} again={again} />
      ) : of.answered ? (
        children(of.data as T)
      ) : (
        <>
          <p class="unseen" role="status">
            {t.loading}
          </p>
          <div class="skeleton" aria-hidden="true" />
        </>
      )}
    </div>
  )
}
