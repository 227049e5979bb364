/** Error rates on simulated agents: verdicts and drift are wrong as rarely as promised, and find what is large. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { partOf } from '../../../eval/pages.ts'
import { histories, rateTables } from '../../../eval/rates.ts'
import { fallRates, falseNotices, recoveryDays, verdictRates } from '../../../eval/simulated.ts'
import { calledOff, everCalledOff, habits, resolutionRates } from '../../../eval/simulated-looks.ts'

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
  [1, 0.8, 0],
  [1, 0.6, 0],
  [5, 0.8, 0],
  [1, 0.8, 0.2],
])(
  'an agent that does not change gets at most .15 notices a year: %d decisions a day, confidence %d, %d too much',
  (perDay, sure, over) => {
    expect(falseNotices(200, perDay, sure, over)).toBeLessThanOrEqual(0.15)
  },
)

test('a fall of 30 points is found within 21 days at one decision a day, and still shown on day 240', () => {
  const { days, shown } = fallRates(200, 1, 0.8, 0.3)
  expect(days).toBeLessThanOrEqual(21)
  expect(shown).toBeGreaterThanOrEqual(0.95)
})

test('at .6 such a fall takes no more than 26 days', () => {
  const { days, shown } = fallRates(200, 1, 0.6, 0.3)
  expect(days).toBeLessThanOrEqual(26)
  expect(shown).toBeGreaterThanOrEqual(0.95)
})

test('a calibrated agent is called off in at most 5 % of histories within 180 daily looks; one look finds 20 points at 100 decisions', () => {
  expect(everCalledOff('for continuous looking', 100)).toBeLessThanOrEqual(0.05)
  expect(everCalledOff('exact (Clopper and Pearson)', 50)).toBeGreaterThan(0.1)
  expect(calledOff('for continuous looking', 200, 0.2)[2]).toBeGreaterThanOrEqual(0.9)
})

test.each(Object.entries(habits))('habit or not, with 200 decisions: %s', (name, { honest }) => {
  const { flagged, fine } = resolutionRates(name, 60)
  if (honest) expect(Math.max(...flagged)).toBeLessThanOrEqual(0.05)
  else {
    expect(flagged.at(-1)).toBeGreaterThanOrEqual(name.includes('.76') ? 0.5 : 0.9)
    expect(fine.at(-1)).toBeLessThanOrEqual(0.1)
  }
})

test.each(['results', 'confidence'] as const)('a finding is over some weeks after %s are right again', (by) => {
  expect(recoveryDays(100, by)).toBeLessThanOrEqual(45)
})

test.skipIf(!soak)('the tables of the guide are what the simulations give (takes minutes: soak only)', async () => {
  const page = await Bun.file(new URL('../../../../docs/guide/calibration.md', import.meta.url)).text()
  expect(partOf(page, 'calibration')).toBe(rateTables(histories).text)
})
