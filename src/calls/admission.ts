/**
 * Admission of calls by their cost: bounds the work in progress, shares it fairly among agents, and refuses what would have to wait too long.
 * A cost of 1 is that of reading one decision.
 */
import { CstpError } from '../../sdk/errors.ts'

export interface Admission {
  /**
   * The function that ends the call, at once or when the call may start.
   * @throws CstpError `overloaded` if too much is waiting, or if it waited too long
   */
  enter(agent: string, cost: number): (() => void) | Promise<() => void>
}

export interface AdmissionOptions {
  /** Cost of all calls in progress. One agent has at most half of it, and an agent with nothing in progress is admitted up to twice of it. */
  capacity: number
  /** Cost of all calls that wait; one agent has at most a quarter of it. */
  max_waiting: number
  /** How long a call may wait. */
  max_wait_ms: number
  /** Milliseconds of a monotonic clock. */
  elapsed(): number
  /** Calls back in another turn of the event loop, after requests that have arrived. */
  nextTurn(run: () => void): void
  /** Calls back after `ms` milliseconds. */
  after(ms: number, run: () => void): () => void
}

interface Waiting {
  cost: number
  since: number
  start(end: () => void): void
  refuse(error: CstpError): void
}

interface Agent {
  running: number
  waiting: Waiting[]
  waiting_cost: number
  /** Cost admitted so far, raised to the least of the busy agents when it comes back: who has had least is next. */
  served: number
}

/** Cost of the waiting calls that start in one turn of the event loop, that of a list of 500, so that other requests are answered in between. */
const startedAtOnce = 24
/** After this long in one turn of the event loop what arrives waits for the next: of calls that are read together, each runs to its end before the next is. */
const turnMs = 4
const sweepMs = 250
const retryAfterSeconds = 2

export const overloaded = (why: string): CstpError =>
  new CstpError('overloaded', `${why}: try again in ${retryAfterSeconds} s; nothing was done`, {
    retry_after: retryAfterSeconds,
  })

export function createAdmission(options: AdmissionOptions): Admission {
  const { capacity, max_waiting, max_wait_ms, elapsed, nextTurn, after } = options
  const share = capacity / 2
  const agents = new Map<string, Agent>()
  let running = 0
  let waiting = 0
  let isScheduled = false
  let isSwept = false
  /** When the first call of this turn came; null if none did. */
  let turn_since: number | null = null

  const fits = (agent: Agent, cost: number): boolean =>
    agent.running === 0
      ? running === 0 || running + cost <= 2 * capacity
      : agent.running + cost <= share && running + cost <= capacity

  /** Whether the calls of this turn of the event loop have taken long enough. */
  function isTurnOver(): boolean {
    if (turn_since !== null) return elapsed() - turn_since >= turnMs
    turn_since = elapsed()
    nextTurn(() => {
      turn_since = null
    })
    return false
  }

  function agentOf(name: string): Agent {
    const known = agents.get(name)
    if (known) return known
    let served = Number.POSITIVE_INFINITY
    for (const busy of agents.values()) served = Math.min(served, busy.served)
    const agent = { running: 0, waiting: [], waiting_cost: 0, served: Number.isFinite(served) ? served : 0 }
    agents.set(name, agent)
    return agent
  }

  /** Starts a call. @returns the function that ends it; further calls of it do nothing */
  function start(name: string, agent: Agent, cost: number): () => void {
    agent.running += cost
    agent.served += cost
    running += cost
    let isEnded = false
    return () => {
      if (isEnded) return
      isEnded = true
      agent.running -= cost
      running -= cost
      if (agent.running === 0 && agent.waiting.length === 0) agents.delete(name)
      if (waiting > 0) schedule()
    }
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    nextTurn(() => {
      isScheduled = false
      startWaiting()
    })
  }

  function shift(agent: Agent): Waiting {
    const first = agent.waiting.shift()!
    agent.waiting_cost -= first.cost
    waiting -= first.cost
    return first
  }

  /** Starts the first calls of the agents that have had least, and leaves the rest to the next turn. */
  function startWaiting(): void {
    for (let left = startedAtOnce; left > 0 && waiting > 0; ) {
      let next: [string, Agent] | null = null
      for (const entry of agents) {
        const [, agent] = entry
        const first = agent.waiting[0]
        if (first && fits(agent, first.cost) && (next === null || agent.served < next[1].served)) next = entry
      }
      if (next === null) return
      const [name, agent] = next
      const first = shift(agent)
      left -= first.cost
      first.start(start(name, agent, first.cost))
    }
    if (waiting > 0) schedule()
  }

  /** Refuses the last calls of the agent that waits for most, unless that is this one: nobody is turned away by what others have waiting. */
  function makeRoom(agent: Agent, cost: number): boolean {
    while (waiting + cost > max_waiting) {
      let most = agent
      for (const one of agents.values()) if (one.waiting_cost > most.waiting_cost) most = one
      if (most.waiting_cost <= agent.waiting_cost + cost) return false
      const last = most.waiting.pop()!
      most.waiting_cost -= last.cost
      waiting -= last.cost
      last.refuse(overloaded('The server has too much work'))
    }
    return true
  }

  /** Refuses what has waited too long, as long as anything waits. */
  function sweep(): void {
    isSwept = waiting > 0
    if (!isSwept) return
    const oldest = elapsed() - max_wait_ms
    for (const [name, agent] of agents) {
      while (agent.waiting[0] && agent.waiting[0].since <= oldest)
        shift(agent).refuse(overloaded('The server has too much work'))
      if (agent.running === 0 && agent.waiting.length === 0) agents.delete(name)
    }
    after(sweepMs, sweep)
  }

  return {
    enter(name, wanted) {
      const cost = Math.min(Math.max(1, Math.floor(wanted)), share)
      const agent = agentOf(name)
      if (!isTurnOver() && agent.waiting.length === 0 && fits(agent, cost)) return start(name, agent, cost)
      if (agent.waiting_cost + cost > max_waiting / 4) throw overloaded('This agent has too many calls waiting')
      if (waiting + cost > max_waiting && !makeRoom(agent, cost)) {
        if (agent.running === 0 && agent.waiting.length === 0) agents.delete(name)
        throw overloaded('The server has too much work')
      }
      agent.waiting_cost += cost
      waiting += cost
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      agent.waiting.push({ cost, since: elapsed(), start: resolve, refuse: reject })
      if (!isSwept) {
        isSwept = true
        after(sweepMs, sweep)
      }
      schedule()
      return promise
    },
  }
}

// What a call costs is known before it runs: from its method, and from how much it asks for and brings along.

const perEntries = 20
/** Of a page beyond so many entries each costs several times as much, since their texts may fill the longest answer. */
const shortPage = 100
const afterShort = 3
/** Characters of parameters that cost as much as reading one decision. */
const perCharacters = 32_768
/** An answer as of an earlier time looks up what each decision was then. */
const ofThePast = 16

const numberIn = (params: Record<string, unknown>, name: string): number => {
  const value = params[name]
  return typeof value === 'number' && value > 0 ? value : 0
}

/** @param base cost of the method with few entries @param size of the parameters, see {@link sizeOf} */
export function costOf(base: number, params: unknown, size: number): number {
  const given = (params !== null && typeof params === 'object' ? params : {}) as Record<string, unknown>
  const isPast = (given.as_of ?? given.asOf ?? null) !== null
  const limit = numberIn(given, 'limit')
  const entries = limit + numberIn(given, 'offset') + afterShort * Math.max(0, limit - shortPage)
  return base * (isPast ? ofThePast : 1) + entries / perEntries + size / perCharacters
}

/** Weight of a value that is not a text, in characters. */
const valueSize = 8

/** The characters of a value's texts, plus 1 for each entry and 8 for each value that is not a text; counts no further than `most`, so that a long value costs no more than a short one. */
export function sizeOf(value: unknown, most: number): number {
  let size = 0
  const open: unknown[] = [value]
  while (open.length > 0 && size <= most) {
    const one = open.pop()
    if (typeof one === 'string') size += one.length
    else if (one === null || typeof one !== 'object') size += valueSize
    else if (Array.isArray(one)) {
      size += valueSize + one.length
      if (size > most) break
      for (const item of one) open.push(item)
    } else
      for (const key in one) {
        size += key.length + 1
        open.push((one as Record<string, unknown>)[key])
        if (size > most) break
      }
  }
  return size
}
