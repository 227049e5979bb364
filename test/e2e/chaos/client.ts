/** One client of several servers: it makes calls of every kind, and writes down the answers. */
import type { RunningServer } from '../../support/process.ts'
import type { History } from './history.ts'

export const tripped = 'trip'
export const counted = 'chaos'

/** Codes of what may fail while servers and the database come and go. */
const engineFailed = [-32603, -32002, -32003, -32004, -32005, -32006, -32008, -32010]
const page = { 'x-cstp-dashboard': '1', 'content-type': 'application/json' }

export interface ClientOptions {
  name: string
  /** Any server, another one each time. */
  pick(): RunningServer
  history: History
  /** When nothing more is begun, ms. */
  end: number
  login: { agent: string; token: string }
}

type Result = Record<string, unknown>

export async function runClient({ name, pick, history, end, login }: ClientOptions): Promise<void> {
  const isOver = () => Date.now() >= end

  /** The result; null where the call was refused or nobody answered. */
  async function call(method: string, params: object): Promise<Result | null> {
    const server = pick()
    let response: Response
    try {
      response = await fetch(`${server.url}/cstp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${login.agent}:${login.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 }),
      })
    } catch {
      // Refused or reset: the server was killed meanwhile.
      await Bun.sleep(20)
      return null
    }
    const text = await response.text().catch(() => null)
    if (text === null) return null
    try {
      const { result, error } = JSON.parse(text)
      if (result) return result
      const isBlocked = error.code === -32005 && Array.isArray(error.data?.violations)
      if (!isBlocked && (!engineFailed.includes(error.code) || /postgres|sql|connection/i.test(error.message)))
        history.unclean.push(`${method}: ${response.status} ${text.slice(0, 300)}`)
    } catch {
      history.unclean.push(`${method}: ${response.status} ${text.slice(0, 300)}`)
    }
    await Bun.sleep(20)
    return null
  }

  /** Sent again until somebody says yes, or the test is over. @returns the id */
  async function record(key: string, category: string, tries: number): Promise<string | null> {
    const text = `decision ${key}`
    const params = { decision: text, confidence: 0.8, category, agent_id: name, idempotency_key: key }
    // What was not answered may have been done all the same: it is as if one call had lasted until now.
    const start = Date.now()
    for (let tried = 0; tried < tries && !isOver(); tried++) {
      const result = await call('recordDecision', params)
      if (result === null) continue
      const id = String(result.decision_id)
      history.recorded.push({ start, end: Date.now(), key, text, id, category })
      return id
    }
    return null
  }

  async function review(id: string, category: string, outcome: string): Promise<void> {
    const review: History['reviews'][number] = { start: Date.now(), id, outcome: null, category }
    history.reviews.push(review)
    if (await call('reviewDecision', { decision_id: id, outcome })) review.outcome = outcome
  }

  async function look(): Promise<void> {
    const scope = `category:${tripped}`
    const start = Date.now()
    const seen = await call('getCircuitState', { scope })
    if (seen === null) return
    history.looks.push({
      scope,
      start,
      end: Date.now(),
      state: String(seen.state),
      opened: typeof seen.opened_at === 'string' ? Date.parse(seen.opened_at) : null,
      probe: typeof seen.probe_decision_id === 'string' ? seen.probe_decision_id : null,
      remaining_ms: Number(seen.cooldown_remaining_ms),
    })
  }

  const own: History['sessions'] = []
  let cookie: string | null = null
  /** Logs in at one server, is known to the others, and logs out at any. */
  async function person(op: number): Promise<void> {
    const { url } = pick()
    const ask = (method: string) =>
      fetch(`${url}/dashboard/session`, {
        method,
        headers: { ...page, origin: url, ...(cookie !== null && { cookie }) },
        body: method === 'POST' ? JSON.stringify(login) : null,
      })
    const session = own.at(-1)
    try {
      if (cookie === null || session === undefined) {
        const response = await ask('POST')
        cookie = response.status === 200 ? (response.headers.get('set-cookie')?.split(';')[0] ?? null) : null
        if (cookie === null) return
        own.push({ uses: [], leaving: null, left: null })
        history.sessions.push(own.at(-1)!)
        return
      }
      const start = Date.now()
      const { status } = await ask('GET')
      session.uses.push({ start, end: Date.now(), status })
      if (session.left !== null) cookie = null
      else if (op % 3 === 0) {
        session.leaving ??= Date.now()
        if ((await ask('DELETE')).status === 204) session.left = Date.now()
      }
    } catch {
      // Refused or reset.
      await Bun.sleep(20)
    }
  }

  let last: string | null = null
  for (let op = 0; !isOver(); op++) {
    const key = `${name}-${op}`
    const thought = `thought ${key}`
    // What nobody acknowledged is a new thought, as it may have been kept.
    if (await call('recordThought', { text: thought, agent_id: name }))
      history.thoughts.push({ agent: name, text: thought })
    // Two at once: one of them gets the thought.
    const both = op % 4 === 0
    const [id] = await Promise.all([
      record(key, counted, Number.POSITIVE_INFINITY),
      both ? record(`${key}b`, counted, Number.POSITIVE_INFINITY) : null,
    ])
    if (id !== null) {
      if (op % 5 === 0) await record(key, counted, 1)
      await review(id, counted, op % 2 === 0 ? 'failure' : 'success')
      if (last !== null && (await call('linkDecisions', { source_id: id, target_id: last, edge_type: 'refines' })))
        history.links.push({ source: id, target: last })
      last = id
    }
    const event = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { op: key } }
    const ingested = await call('ingestEvidence', { source: 'ci', events: [event] })
    if (ingested) history.events.push({ seq: Number(ingested.first_seq), op: key })
    const action = { description: `check ${key}`, category: counted, confidence: 0.9 }
    if (await call('checkGuardrails', { action, agent: { id: key }, agent_id: name })) history.checks.push(key)
    await person(op)
    await look()
    const probe = await record(`${key}t`, tripped, 1)
    await look()
    if (probe !== null) await review(probe, tripped, Math.random() < 0.8 ? 'failure' : 'success')
    await call('queryDecisions', { query: `decision ${name}`, retrieval_mode: 'keyword', limit: 3 })
  }
}
