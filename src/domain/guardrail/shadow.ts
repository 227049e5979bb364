/** Verdicts of a caller in shadow mode: nothing is stopped, changed or asked for, and what would have been is kept. */
import { judged, type Verdict } from './evaluate.ts'

/** The verdict as a caller in shadow mode gets it. */
export function shadowed<V extends Verdict>(verdict: V): V {
  const would_block = [...new Set([...verdict.would_block, ...verdict.asks.map(({ rule }) => rule)])]
  return judged({ ...verdict, violations: [], warnings: [], asks: [], changes: [], modified_action: null, would_block })
}
