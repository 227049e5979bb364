/** A write that can be undone for ten seconds: it waits in the page, and is sent at once if the page is left or another one follows. */
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { Failure } from './call.tsx'
import { refreshPage } from './fresh.tsx'
import { texts } from './texts.ts'

const t = texts.undo
const waits_ms = 10_000

interface Write {
  /** What is written, in words. */
  text: string
  /** Key of what it is about, which lists hide meanwhile. */
  of: string
  /** @returns the result in words */
  send(): Promise<string>
  undone(): void
  state: 'waiting' | 'sending' | 'failed'
  error?: unknown
}

/** Writes that wait or failed, the newest last. Those that were sent leave their result. */
let writes: Write[] = []
let said = ''
let timer: ReturnType<typeof setTimeout> | undefined
const notices = new EventTarget()
const changed = (): void => void notices.dispatchEvent(new Event('change'))

async function send(write: Write): Promise<void> {
  write.state = 'sending'
  changed()
  try {
    const result = await write.send()
    said = result
    setTimeout(() => {
      if (said !== result) return
      said = ''
      changed()
    }, waits_ms)
    writes = writes.filter((one) => one !== write)
    void refreshPage()
  } catch (error) {
    Object.assign(write, { state: 'failed', error })
  }
  changed()
}

/** Sends what waits. */
export function sendNow(): Promise<void> {
  clearTimeout(timer)
  const waiting = writes.find(({ state }) => state === 'waiting')
  return waiting ? send(waiting) : Promise.resolve()
}

/** Writes in ten seconds, unless it is undone. */
export function writeLater(write: Pick<Write, 'text' | 'of' | 'send' | 'undone'>): void {
  void sendNow()
  said = ''
  writes = [...writes, { ...write, state: 'waiting' }]
  timer = setTimeout(sendNow, waits_ms)
  changed()
}

function useWrites(): readonly Write[] {
  const [, render] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    notices.addEventListener('change', render)
    return () => notices.removeEventListener('change', render)
  }, [])
  return writes
}

/** Whether a write about this waits or is under way. */
export function useWaits(): (of: string) => boolean {
  const all = useWrites()
  return (of) => all.some((one) => one.of === of && one.state !== 'failed')
}

/** What waits, with the button that takes it back; then its result. */
export function Undo() {
  const all = useWrites()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The last event of a tab that is closed, or that a phone may never show again.
    const hidden = () => document.visibilityState === 'hidden' && void sendNow()
    const left = () => void sendNow()
    document.addEventListener('visibilitychange', hidden)
    addEventListener('pagehide', left)
    return () => {
      document.removeEventListener('visibilitychange', hidden)
      removeEventListener('pagehide', left)
    }
  }, [])
  const waiting = all.find(({ state }) => state === 'waiting')
  // The button that was pressed is gone.
  useLayoutEffect(() => {
    if (waiting) box.current?.focus()
  }, [waiting])
  const undo = () => {
    clearTimeout(timer)
    writes = writes.filter((one) => one !== waiting)
    changed()
    waiting?.undone()
  }
  return (
    <div class="undo" tabIndex={-1} ref={box}>
      <p role="status">{waiting ? t.waits(waiting.text) : said}</p>
      {waiting && (
        <button type="button" onClick={undo}>
          {t.undo}
        </button>
      )}
      {all
        .filter(({ state }) => state === 'failed')
        .map((one) => (
          <div key={one.text}>
            <p>{one.text}</p>
            <Failure error={one.error} again={() => void send(one)} />
          </div>
        ))}
    </div>
  )
}
