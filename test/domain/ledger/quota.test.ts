/** Bytes that an agent may write in a day: what counts, what is refused, and that servers share the count, on every store. */
import { describe, expect, test } from 'bun:test'
import type { CstpError } from '../../../sdk/errors.ts'
import { deliverTo } from '../../../src/app/routes.ts'
import { createDispatch } from '../../../src/calls/dispatch.ts'
import { methods } from '../../../src/methods/table.ts'
import { event, ingest } from '../../support/evidence/ingest.ts'
import * as gh from '../../support/github.ts'
import { type As, callers, forEachBackend, type TestProgram } from '../../support/program.ts'

const limit = 100_000
const dayMs = 86_400_000

/** The program with a low limit: calls end with an error's name or null. */
function limited(program: TestProgram, agent_bytes_per_day = limit) {
  const dispatch = createDispatch(methods, { ...program.services, agent_bytes_per_day }, () => {})
  const { signal } = new AbortController()
  return (method: string, params: object, as: As = 'alice') =>
    dispatch({ method: `cstp.${method}`, params, caller: callers[as], request_id: 'r', signal }).then(
      () => null,
      (error: unknown) => error as CstpError,
    )
}
type Limited = ReturnType<typeof limited>

/** Calls until one is refused. @returns how many were not */
async function exhaust(calls: readonly Limited[], method: string, params: object, as?: As): Promise<number> {
  for (let made = 0; made < 500; made++) {
    const error = await calls[made % calls.length]!(method, params, as)
    if (error) {
      expect([error.error, error.code]).toEqual(['rate_limited', -32002])
      return made
    }
  }
  throw new Error('never refused')
}

const long = 'x'.repeat(5_000)
const check = { action: { description: 'Do it', context: { long } } }

forEachBackend((open) => {
  describe('bytes that an agent may write', () => {
    test('records count; beyond the limit writes are refused until the next day, with a clear message; reads and other agents go on', async () => {
      const program = await open()
      const call = limited(program)
      const given = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture', context: long }
      expect(await exhaust([call], 'recordDecision', given)).toBeWithin(5, 20)
      const error = (await call('recordThought', { text: 'one more' }))!
      expect(error.message).toMatch(
        /^alice has written \d+ bytes today, and may write 100000 \(CSTP_AGENT_BYTES_PER_DAY; of a workspace, store\.agent_bytes_per_day in its settings file\); again from 2026-07-02T00:00/,
      )
      expect(error.data).toMatchObject({ limit_bytes: limit, retry_after: 43_200 })
      expect(await call('queryDecisions', { query: 'SQLite' })).toBeNull()
      expect(await call('recordDecision', given, 'bob')).toBeNull()
      program.clock.now += dayMs
      expect(await call('recordDecision', given)).toBeNull()
    })

    test('checks by an agent that may only read count as well: they leave a line of the trail each', async () => {
      const call = limited(await open())
      expect(await exhaust([call], 'checkGuardrails', check, 'reader')).toBeLessThan(100)
      expect(await call('checkGuardrails', check, 'bob')).toBeNull()
      expect(await call('listDecisions', {}, 'reader')).toBeNull()
    })

    test('queries in ever new sessions count: beyond the limit they are answered, and nothing more is noted', async () => {
      const program = await open()
      const call = limited(program)
      const sessions = async () => {
        await program.services.tracker.flush()
        return (await program.store.keyed.list('session', { limit: 1_000 })).length
      }
      const query = (at: number) => ({ query: 'sqlite', tracker_scope: `scope ${at}` })
      let at = 0
      for (; at < 200; at++) expect(await call('queryDecisions', query(at), 'reader')).toBeNull()
      const noted = await sessions()
      expect(noted).toBeLessThan(200)
      for (; at < 220; at++) expect(await call('queryDecisions', query(at), 'reader')).toBeNull()
      expect(await sessions()).toBe(noted)
    })

    test('exported bundles count by their bytes', async () => {
      const program = await open()
      const call = limited(program)
      await ingest(program, event({ payload: { text: long } }))
      expect(await exhaust([call], 'exportEvidenceBundle', {}, 'root')).toBeLessThan(20)
    })

    test('thoughts count, and evidence', async () => {
      const call = limited(await open())
      expect(await exhaust([call], 'recordThought', { text: long })).toBeLessThan(50)
      const events = [event({ long })]
      expect(await exhaust([call], 'ingestEvidence', { source: 'ci', events }, 'root')).toBeWithin(5, 20)
    })

    test('links count by the record that they append, beside their line of the trail', async () => {
      const program = await open()
      await ingest(program, event())
      const decision_id = await program.record()
      let chained = 0
      const { chain } = program.services
      const append: typeof chain.append = async (events, keys) => {
        chained += JSON.stringify(events).length
        return chain.append(events, keys)
      }
      const links = limited({ ...program, services: { ...program.services, chain: { ...chain, append } } })
      const made = await exhaust([links], 'linkEvidence', { decision_id, event_seqs: [1] }, 'root')
      const lines = await program.store.audit.list({ method: 'cstp.linkEvidence', limit: 500 })
      expect(lines).toHaveLength(made)
      const audited = lines.reduce((sum, { seq: _, ...line }) => sum + JSON.stringify(line).length, 0)
      expect(audited).toBeLessThan(limit)
      expect(audited + chained).toBeGreaterThanOrEqual(limit)
    })

    test('deliveries of a webhook count for their source, over its servers: beyond the limit they are refused until the next day', async () => {
      const one = await open()
      const two = await one.second()
      const servers = [one, two].map(({ services }) => deliverTo({ ...services, agent_bytes_per_day: limit }, []))
      const { signal } = new AbortController()
      const send = (at: number) =>
        servers[at % 2]!(gh.deliveryOf(gh.pullRequest('opened', { number: at + 1, title: 'x'.repeat(200) })), {
          request_id: 'd',
          signal,
        }).then(
          ({ outcome }) => outcome as string,
          (error: CstpError) => error.error,
        )
      const outcomes: string[] = []
      while (outcomes.at(-1) !== 'rate_limited' && outcomes.length < 500) {
        outcomes.push(await send(outcomes.length))
        one.clock.now += 1_000
      }
      expect(outcomes.length).toBeWithin(20, 200)
      expect(new Set(outcomes.slice(0, -1))).toEqual(new Set(['ingested']))
      // Agents are not held up by it.
      expect(await limited(one)('recordThought', { text: 'on' })).toBeNull()
      one.clock.now += dayMs
      expect(await send(outcomes.length)).toBe('ingested')
    })

    test('two servers share the count, and a restart does not begin it again', async () => {
      const one = await open()
      const two = await one.second()
      const alone = await exhaust([limited(one)], 'checkGuardrails', check, 'bob')
      const calls = [limited(one), limited(two)]
      const step: Limited = (...given) => {
        // What others have written is looked at every ten seconds.
        one.clock.now += 1_000
        return calls[Math.random() < 0.5 ? 0 : 1]!(...given)
      }
      const shared = await exhaust([step], 'checkGuardrails', check, 'reader')
      expect(shared).toBeLessThan(alone * 1.5)
      const again = limited(one)
      expect(await exhaust([again], 'checkGuardrails', check, 'reader')).toBeLessThan(5)
    })

    test('0 is no limit; what is rolled back does not count', async () => {
      const program = await open()
      const free = limited(program, 0)
      for (let at = 0; at < 30; at++) expect(await free('checkGuardrails', check, 'bob')).toBeNull()
      const call = limited(program)
      const missing = { id: '2026-01-01-decision-000000000000', updates: { context: 'x'.repeat(90_000) } }
      for (let at = 0; at < 5; at++) expect((await call('updateDecision', missing))!.error).toBe('decision_not_found')
    })
  })
})
