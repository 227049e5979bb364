/** Calibration of 1 518 real forecasts by three models: what the method answers equals what the file itself says. */
import { expect, test } from 'bun:test'
import { type Forecast, forecastsOf } from '../support/forecasts.ts'
import { forEachBackend, type Result } from '../support/program.ts'
import { sharedText } from '../support/shared.ts'

const text = sharedText('data/forecasts-2018.csv')

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const at4 = (value: number): number => Math.round(value * 10_000) / 10_000

/** The figures by their textbook definitions, decision by decision. */
function independent(forecasts: readonly Forecast[]) {
  const called = forecasts.filter(({ won }) => won !== null).map(({ confidence: p, won }) => ({ p, o: won ? 1 : 0 }))
  const base = mean(called.map(({ o }) => o))
  const bins = [0, 1, 2, 3, 4].map((bin) =>
    called.filter(({ p }) => p >= [0, 0.2, 0.4, 0.6, 0.8][bin]! && (bin === 4 || p < [0.2, 0.4, 0.6, 0.8][bin]!)),
  )
  const weighted = (figure: (predicted: number, actual: number) => number) =>
    bins.reduce(
      (sum, bin) =>
        bin.length === 0
          ? sum
          : sum + (bin.length / called.length) * figure(mean(bin.map(({ p }) => p)), mean(bin.map(({ o }) => o))),
      0,
    )
  return {
    overall: {
      scored: called.length,
      brier_score: at4(mean(called.map(({ p, o }) => (p - o) ** 2))),
      accuracy: at4(base),
      calibration_gap: at4(base - mean(called.map(({ p }) => p))),
      ece: at4(weighted((predicted, actual) => Math.abs(predicted - actual))),
      reliability: at4(weighted((predicted, actual) => (predicted - actual) ** 2)),
      resolution: at4(weighted((_, actual) => (actual - base) ** 2)),
      uncertainty: at4(base * (1 - base)),
      log_score: at4(
        -mean(
          called.map(({ p, o }) => {
            const clamped = Math.min(1 - 1e-6, Math.max(1e-6, p))
            return o === 1 ? Math.log(clamped) : Math.log(1 - clamped)
          }),
        ),
      ),
    },
    buckets: bins.map((bin) => ({
      decisions: bin.length,
      predicted: at4(mean(bin.map(({ p }) => p))),
      actual: at4(mean(bin.map(({ o }) => o))),
      brier: at4(mean(bin.map(({ p, o }) => (p - o) ** 2))),
    })),
  }
}

const shown = ({ overall, buckets }: Result<'getCalibration'>) => ({
  overall,
  buckets: buckets.map(({ decisions, predicted, actual, brier }) => ({ decisions, predicted, actual, brier })),
})

forEachBackend((open) => {
  test.skipIf(text === null)(
    'figures and buckets of all forecasts, of each model and of each branch',
    async () => {
      const { call, record } = await open()
      const forecasts = forecastsOf(text!)
      expect(forecasts.length).toBe(1_518)
      const load = async ({ race, branch, date, version, confidence, won }: Forecast) => {
        const decision = `The Democrat wins ${race}`
        const source_key = `${version} ${race}`
        const id = await record(
          { decision, confidence, category: branch, created_at: date, recorded_by: version, source_key },
          'root',
        )
        if (won !== null) await call('reviewDecision', { id, outcome: won ? 'success' : 'failure' }, 'root')
      }
      for (let at = 0; at < forecasts.length; at += 100) await Promise.all(forecasts.slice(at, at + 100).map(load))

      const all = await call('getCalibration')
      expect(all).toMatchObject({ total_decisions: 1_518, reviewed_decisions: 1_512 })
      expect(shown(all)).toMatchObject(independent(forecasts))
      // All together fit, and so does each model and branch; that what is called 27 % comes true in 10 % is said of its range.
      expect(all.verdict).toMatchObject({ interpretation: 'well_calibrated', proven_by: null })
      expect(all.recommendations.map(({ type, message }) => [type, message])).toEqual([
        [
          'overconfident_range',
          expect.stringContaining('Decisions stated at 0.2-0.4 came true 10 % of the time (84 of them;'),
        ],
      ])
      const briers = new Set<number>()
      for (const version of ['classic', 'deluxe', 'lite']) {
        const own = await call('getCalibration', { agent: version })
        expect(own.total_decisions).toBe(506)
        expect(shown(own)).toMatchObject(independent(forecasts.filter((one) => one.version === version)))
        briers.add(own.overall.brier_score!)
      }
      expect(briers.size).toBe(3)
      const senate = await call('getCalibration', { agent: 'lite', category: 'Senate' })
      expect(shown(senate)).toMatchObject(
        independent(forecasts.filter(({ version, branch }) => version === 'lite' && branch === 'Senate')),
      )
    },
    120_000,
  )
})
