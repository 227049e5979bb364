/** Compares seals of sessions with the acts that they count, to find acts of a session that the thread lacks. */
import type { StoredAct, ThreadReader } from '../../../../sdk/storage/thread.ts'

/** Numbers of tool calls and of verdicts. */
export interface SessionCounts {
  actions: number
  verdicts: number
}

/** A seal, and the acts that the thread holds between its first and its last place. */
export interface SealCheck {
  /** Of the seal. */
  record_id: string
  session: string
  sealed: SessionCounts
  found: SessionCounts
  /** Actions and verdicts in between that were erased, so that their session is unknown. */
  erased: SessionCounts
  /** Whether the acts found are those that were sealed, or can be if erased ones are counted. */
  complete: boolean
}

interface Seal {
  session: string
  actions: number
  verdicts: Record<string, number>
  first_index: number
  last_index: number
}

const page = 500
const counted = { action: 'actions', verdict: 'verdicts' } as const
type Places = Record<keyof SessionCounts, number[]>
const newPlaces = (): Places => ({ actions: [], verdicts: [] })

/** Numbers of these places that a seal covers. */
const between = (places: Places, { first_index, last_index }: Seal): SessionCounts => {
  const count = (list: readonly number[]) => list.filter((seq) => seq >= first_index && seq <= last_index).length
  return { actions: count(places.actions), verdicts: count(places.verdicts) }
}

/** Checks every seal, in the order of the thread. An erased seal is left out. */
export async function* checkSeals({ read }: Pick<ThreadReader, 'read'>): AsyncGenerator<SealCheck> {
  const sessions = new Map<string, Places>()
  const erased = newPlaces()

  function note({ kind, payload, seq }: StoredAct): void {
    const what = counted[kind as keyof typeof counted]
    if (payload === null) {
      erased[what].push(seq!)
      return
    }
    const { session } = JSON.parse(payload) as { session?: string }
    if (session === undefined) return
    const places = sessions.get(session) ?? newPlaces()
    places[what].push(seq!)
    sessions.set(session, places)
  }

  for (let next = 1; ; ) {
    const acts = await read({ from: next, limit: page })
    for (const act of acts) {
      if (act.kind in counted) note(act)
      if (act.kind !== 'session' || act.payload === null) continue
      const seal = JSON.parse(act.payload) as Seal
      const verdicts = Object.values(seal.verdicts).reduce((sum, count) => sum + count, 0)
      const sealed = { actions: seal.actions, verdicts }
      const found = between(sessions.get(seal.session) ?? newPlaces(), seal)
      const unknown = between(erased, seal)
      const fits = (what: keyof SessionCounts) =>
        found[what] <= sealed[what] && found[what] + unknown[what] >= sealed[what]
      const complete = fits('actions') && fits('verdicts')
      yield { record_id: act.record_id, session: seal.session, sealed, found, erased: unknown, complete }
    }
    if (acts.length < page) return
    next += acts.length
  }
}

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** What is wrong with a seal that is not complete, as a sentence without a full stop. */
export function sealProblem({ session, sealed, found }: SealCheck): string {
  const parts = Object.entries(counted).flatMap(([one, what]) =>
    sealed[what] === found[what] ? [] : [`${plural(sealed[what], one)} sealed, ${found[what]} found`],
  )
  return `session ${session}: ${parts.join('; ')}`
}
