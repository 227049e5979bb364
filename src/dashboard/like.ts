/** The decisions nearest to what is being typed. */
import { useEffect, useState } from 'preact/hooks'
import type { QueryDecisionsResult } from '../../sdk/client.ts'
import { service } from './service.ts'

const waitMs = 150
const least = 3

/** Null until there is an answer for the text, and for a text that is too short to ask about. */
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
          // It helps while somebody types; what they send tells what is wrong.
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
