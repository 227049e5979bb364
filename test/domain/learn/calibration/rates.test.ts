/** Error rates on simulated agents: verdicts and drift are wrong in at most 5 %, and find what is large. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { partOf } from '../../../eval/pages.ts'
import { histories, rateTables } from '../../../eval/rates.ts'
import { categoryRates, driftRates, verdictRates } from '../../../eval/simulated.ts'

setDefaultTimeout(120_000)
const soak = process.env.CSTP_SOAK === '1'

test.each([
  [2, 150],
  [6, 100],
])('verdicts on %d agents with %d decisions each', (agents, each) => {
  const { false_parts, false_verdicts, found } = verdictRates(60, agents, each)
  expect(false_parts).toBeLessThanOrEqual(0.05)
  expect(false_verdicts).toBeLessThanOrEqual(0.05)
  expect(found).toBeGreaterThanOrEqual(0.95)
})

test.each([
  [40, 120, 0.8],
  [60, 200, 0.6],
])('drift of %d decisions against %d, at a confidence of %d', (recent, historical, sure) => {
  const { false_alarms, found } = driftRates(200, recent, historical, sure)
  expect(false_alarms).toBeLessThanOrEqual(0.05)
  expect(found).toBeGreaterThanOrEqual(0.95)
})

test('of twenty quiet categories none is listed, and of one that drifts mostly that one', async () => {
  const { false_alarms, found } = await categoryRates(60, 20)
  expect(false_alarms).toBeLessThanOrEqual(0.05)
  expect(found).toBeGreaterThanOrEqual(0.8)
})

test.skipIf(!soak)('the tables of the guide are what the simulations give (takes minutes: soak only)', async () => {
  const page = await Bun.file(new URL('../../../../docs/guide/calibration.md', import.meta.url)).text()
  expect(partOf(page, 'calibration')).toBe(await rateTables(histories))
})
