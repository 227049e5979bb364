/** Titles of decisions of which an answer has only the ids. */
import { useRef } from 'preact/hooks'
import { useCall } from './call.tsx'
import { service } from './service.ts'

/** @returns the title of each, and its id until that is loaded, in one request for all that are new, or if it can't be read */
export function useTitles(ids: readonly string[]): (id: string) => string {
  const titles = useRef(new Map<string, string>()).current
  const missing = [...new Set(ids)].filter((id) => !titles.has(id))
  useCall(missing.join(' '), async (signal) => {
    if (missing.length === 0) return
    const calls = missing.map((id) => ({ method: 'getDecision' as const, params: { id, track: false } }))
    const answers = await service.batch(calls, { signal })
    for (const [at, id] of missing.entries()) {
      const answer = answers[at]!
      titles.set(id, answer.ok ? answer.result.title : id)
    }
  })
  return (id) => titles.get(id) ?? id
}
