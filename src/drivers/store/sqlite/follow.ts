/** Follows the commits of all processes, and keeps answers until the next one. */
import type { FeedHead, Generation } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'

export interface Followed {
  /** The newest change and the generations, including all that was committed before the call by any process. */
  head(): FeedHead
  /** The answer to a question; made again once anything was committed since. */
  answer<T>(question: string, make: () => T): T
  /** All answers by their questions, without those made before the newest commit. Use the map at once, since it changes with each commit. */
  answers(): Map<string, unknown>
}

/** The most answers to keep: questions are repeated by dashboards, sessions and rules, not by the thousand. */
const maxAnswers = 1_000

export function follow({ prepare }: Statements): Followed {
  const version = prepare<{ data_version: number }, []>('PRAGMA data_version')
  const newest = prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const generations = prepare<Generation, []>('select number, embedder, dimensions, state from generations')
  const known = new Map<string, unknown>()
  let seen = -1

  function answers(): Map<string, unknown> {
    // Read before the answer: a commit in between changes it again, and the next question makes a new answer.
    const { data_version } = version.get()!
    if (data_version !== seen || known.size >= maxAnswers) known.clear()
    seen = data_version
    return known
  }

  function answer<T>(question: string, make: () => T): T {
    const given = answers()
    if (given.has(question)) return given.get(question) as T
    const made = make()
    given.set(question, made)
    return made
  }

  const head = (): FeedHead => {
    const all = generations.all()
    const inState = (state: Generation['state']) => all.find((one) => one.state === state) ?? null
    return { ...newest.get()!, active: inState('active'), building: inState('building') }
  }
  return { head: () => answer('head', head), answer, answers }
}
