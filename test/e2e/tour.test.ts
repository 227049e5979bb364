/** The tour on real decisions: whatever one answer states, no other answer, and no line of the same one, contradicts. */
import { expect, test } from 'bun:test'
import { pepMaterial, shopMaterial } from '../../docs/demo/material.ts'
import { connect } from '../../src/cli/connection.ts'
import type { Line } from '../../src/cli/import-lines.ts'
import { load } from '../../src/cli/import-load.ts'
import { forecastsOf } from '../support/forecasts.ts'
import { type MethodName, memoryProgram, type Result, type TestProgram } from '../support/program.ts'
import { sharedText } from '../support/shared.ts'

interface Material {
  lines: AsyncIterable<Line>
  questions: string[]
}

async function* forecastLines(csv: string): AsyncGenerator<Line> {
  for (const [at, { race, branch, date, version, confidence, won }] of forecastsOf(csv).entries()) {
    const outcome = won === null ? {} : { outcome: won ? 'success' : 'failure' }
    const value = { decision: `The Democrat wins ${race}`, confidence, category: branch, date, agent: version }
    yield { line: at + 1, value: { ...value, source: `${version} ${race}`, ...outcome } }
  }
}

const forecasts = sharedText('data/forecasts-2018.csv')
const materials: [string, Material | null][] = [
  ['the demo', shopMaterial()],
  ['the PEPs', await pepMaterial()],
  ['the forecasts', forecasts === null ? null : { lines: forecastLines(forecasts), questions: ['Who wins in Texas?'] }],
]

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0)
const sumOf = (counts: Record<string, number>): number => sum(Object.values(counts))
const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.0006

/** Counts are those of the lists. */
async function countsAgree({ call }: TestProgram): Promise<void> {
  const stats = await call('getStats')
  for (const by of ['by_category', 'by_stakes', 'by_status', 'by_agent'] as const)
    expect([by, sumOf(stats[by])]).toEqual([by, stats.total])
  expect(sumOf(stats.by_outcome)).toBe(stats.by_status.reviewed ?? 0)
  const { total, decisions } = await call('listDecisions', { limit: 100 })
  expect([total, decisions.length]).toEqual([stats.total, Math.min(100, stats.total)])
  for (const [category, count] of Object.entries(stats.by_category))
    expect([category, (await call('listDecisions', { category, limit: 1 })).total]).toEqual([category, count])
  expect((await call('getCompacted', { limit: 1 })).total).toBe(stats.total)

  const reasons = await call('getReasonStats')
  expect(reasons.reviewed_decisions).toBe(stats.by_status.reviewed ?? 0)
  for (const { type, uses, scored, success_rate, success_low, success_high } of reasons.types) {
    expect([type, scored <= uses]).toEqual([type, true])
    expect([type, (reasons.success_rates as Record<string, number>)[type] ?? null] as unknown[]).toEqual([
      type,
      success_rate,
    ])
    if (success_rate !== null)
      expect([type, success_low! <= success_rate && success_rate <= success_high!]).toEqual([type, true])
  }
  const { wisdom } = await call('getWisdom')
  for (const { category, decisions: count, failure_modes } of wisdom) {
    const { total: reviewed } = await call('listDecisions', { category, status: 'reviewed', limit: 1 })
    expect([category, count <= reviewed, failure_modes.every((one) => one !== null)]).toEqual([category, true, true])
  }
}

/** Figures are those of their parts, and no sentence praises what a figure of the same answer blames. */
async function figuresAgree({ call, dispatch }: TestProgram): Promise<void> {
  const stats = await call('getStats')
  for (const filter of [{}, ...Object.keys(stats.by_agent).map((agent) => ({ agent }))]) {
    const all = await call('getCalibration', filter)
    const { overall, buckets, by_reviewer, verdict, recommendations } = all
    const say = <T>(value: T): [object, T] => [filter, value]
    expect(say(sum(buckets.map(({ decisions }) => decisions)))).toEqual(say(overall.scored))
    expect(say(sum(Object.values(by_reviewer).map(({ scored }) => scored)))).toEqual(say(overall.scored))
    expect(say(overall.scored <= all.reviewed_decisions && all.reviewed_decisions <= all.total_decisions)).toEqual(
      say(true),
    )
    if (overall.accuracy !== null && overall.scored > 0) {
      const mean = (of: 'predicted' | 'actual') =>
        sum(buckets.map((one) => one.decisions * (one[of] ?? 0))) / overall.scored
      expect(say([near(mean('actual'), overall.accuracy), near(mean('predicted'), overall.mean_confidence!)])).toEqual(
        say([true, true]),
      )
      expect(say(near(overall.accuracy - overall.mean_confidence!, overall.calibration_gap!))).toEqual(say(true))
    }
    const praised = recommendations.some(({ type }) => type === 'well_calibrated')
    const blamed = recommendations.some(({ type }) => /overconfiden|underconfiden/.test(type))
    expect(say([praised && blamed, praised && verdict.interpretation !== 'well_calibrated'])).toEqual(
      say([false, false]),
    )
    expect(say(verdict.proven_by === null || recommendations.length > 0)).toEqual(say(true))
  }
  // The profile at the start of a session has the figures of the agent's calibration.
  for (const agent of Object.keys(stats.by_agent)) {
    const { agent_profile: one } = (await dispatch({
      method: 'cstp.getSessionContext',
      params: { include: ['calibration'] },
      caller: { agent, scopes: new Set(['read'] as const) },
      request_id: agent,
      signal: new AbortController().signal,
    })) as Result<'getSessionContext'>
    const { verdict, overall, ...own } = await call('getCalibration', { agent })
    expect({ ...one }).toMatchObject({
      agent,
      total_decisions: own.total_decisions,
      reviewed_decisions: own.reviewed_decisions,
      brier_score: overall.brier_score,
      accuracy: overall.accuracy,
      tendency: verdict.interpretation,
    })
  }
  const drift = await call('checkDrift')
  expect(drift.drift_detected).toBe(drift.alerts.some(({ severity }) => severity !== 'info'))
}

/** What is found fits the question's own figures, and every surface tells the same of it. */
async function findingsAgree({ call, second }: TestProgram, questions: string[]): Promise<void> {
  const { total } = await call('getStats')
  for (const query of questions) {
    const found = await call('queryDecisions', { query, retrieval_mode: 'hybrid', limit: 5, track: false })
    expect([query, found.index]).toEqual([query, { complete: true, indexed: total, total }])
    expect(found.decisions.length).toBeLessThanOrEqual(found.total)
    expect(Object.keys(found.scores)).toEqual(expect.arrayContaining(found.decisions.map(({ id }) => id)))
    for (const hit of found.decisions) {
      const { title, outcome, lessons, actual_result, recorded_by, status } = await call('getDecision', {
        id: hit.id,
        track: false,
      })
      expect(hit).toMatchObject({ title, outcome, lessons, actual_result, recorded_by, status })
      expect([hit.id, (hit.status === 'reviewed') === (hit.outcome !== null)]).toEqual([hit.id, true])
    }
    const before = await call('preAction', {
      action: { description: query },
      options: { auto_record: false, query_limit: 5 },
    })
    // Both leave out what does not fit.
    const ids = before.relevant_decisions.map(({ id }) => id)
    expect(found.decisions.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
    expect(ids.length > 0).toBe(!found.no_precedent)
    expect(before).toMatchObject({ no_precedent: found.no_precedent, degraded: found.degraded })
    expect(before.allowed).toBe(before.violations.length === 0)

    const context = await call('getSessionContext', { task_description: query, decisions_limit: 5, track: false })
    expect(context.relevant_decisions!.map(({ id }) => id)).toEqual(ids)
    const { markdown = '' } = await call('getSessionContext', {
      task_description: query,
      decisions_limit: 5,
      format: 'markdown',
      track: false,
    })
    expect(markdown.includes('None of the recorded decisions fits')).toBe(found.no_precedent)
  }
  const ready = await call('ready', { limit: 50 })
  expect(ready.actions.length).toBe(Math.min(50, ready.total))
  for (const { type, decision_id } of ready.actions)
    if (type === 'stale_pending' || type === 'review_outcome')
      expect([type, (await call('getDecision', { id: decision_id!, track: false })).status]).toEqual([type, 'pending'])
  // Asked again, by another server, it says the same.
  const other = await second()
  for (const method of ['getStats', 'getCalibration', 'ready', 'getWisdom'] as MethodName[])
    expect([method, await other.call(method)]).toEqual([method, await call(method)])
  await other.close()
}

test.each(materials.filter(([, material]) => material !== null))(
  '%s: no answer contradicts itself or another',
  async (_, material) => {
    const program = await memoryProgram()
    // The newest decision of the material is in the past.
    program.clock.now = Date.parse('2027-01-01T12:00:00Z')

    const connection = connect((method, params) =>
      program.call(method.replace('cstp.', '') as MethodName, params as object, 'root'),
    )
    const problems: string[] = []
    await load(material!.lines, { connection, problem: (line, reason) => problems.push(`${line}: ${reason}`) })
    expect(problems).toEqual([])
    await countsAgree(program)
    await figuresAgree(program)
    await findingsAgree(program, [...material!.questions, 'zzz qqq xxx'])
  },
  120_000,
)
