/** The decisions nearest to the text being typed. */
import { useEffect, useState } from 'preact/hooks'
import type { QueryDecisionsResult } from '../../sdk/client.ts'
import { service } from './service.ts'

const waitMs = 150
const least = 3

/** Null until there is an answer for the text, and if the text is too short to search for. */
export function useLike(text: string, limit: number): QueryDecisionsResult | null {
  const [found, setFound] = useState<QueryDecisionsResult | null>(null)
  const typed = text.trim()
  useEffect(() => {
    if (typed.length < least) {
      setFound(null)
      return
    }
    const stop = new AbortController()
    const ask = () =>
      service
        .queryDecisions({ query: typed.slice(0, 10_000), retrieval_mode: 'hybrid', limit }, { signal: stop.signal })
        .then(
          (answer) => !stop.signal.aborted && setFound(answer),
          // Errors are ignored: this only assists typing, and submitting reports them.
          () => {},
        )
    const timer = setTimeout(() => void ask(), waitMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [typed, limit])
  return found
}
