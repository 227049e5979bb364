/** What is remembered of the counters: right after each change, and bounded. */
import { expect, test } from 'bun:test'
import { counted } from '../../../src/drivers/store/counts/counted.ts'
import { countMemory, type Delta } from '../../../src/drivers/store/counts/memory.ts'
import { sumOf } from '../../../src/drivers/store/counts/sums.ts'

const dayMs = 86_400_000
const place = { agent: 'ada', category: null, stakes: 'low' } as const
const group = {
  confidence: null,
  outcome: null,
  settled_by: null,
  status: 'pending',
  preserve: false,
  value: null,
} as const

test('a day whose decisions change again and again is read again, rather than growing with each change', () => {
  /** What the rows say: decisions of the first group and of the second. */
  const rows = [3, 0]
  let reads = 0
  const memory = countMemory({
    decisions() {
      reads++
      const found = counted()
      rows.forEach((count, group) => {
        for (let at = 0; at < count; at++) found.add(0, group, 1, 1)
      })
      return found
    },
    pending: () => new Float64Array(),
  })
  memory.setKinds({ places: [place], groups: [group, { ...group, status: 'reviewed' }] })
  memory.reload(
    [
      { place: 0, group: 0, decisions: 3 },
      { place: 0, group: 0, decisions: 9 },
    ],
    [
      [0, 3],
      [5, 9],
    ],
  )
  const change = (group: number, decisions: number): Delta => ({ place: 0, group, decisions, created_ms: 1 })
  const span = { created_from_ms: 0, created_to_ms: dayMs - 2 }
  for (let round = 0; round < 3_000; round++) {
    // Reviewed, or reopened: the counts of the day stay what the rows say.
    const [from, to] = round % 2 === 0 ? [0, 1] : [1, 0]
    memory.apply(change(from, -1))
    memory.apply(change(to, 1))
    rows[from]!--
    rows[to]!++
    expect(sumOf(memory.visit, { ...span, status: ['reviewed'] })).toBe(rows[1]!)
  }
  // 6 000 entries of changes, of which a day keeps about a thousand.
  expect(reads).toBeGreaterThan(4)
  expect(reads).toBeLessThan(9)
})

test('days that were asked about take room for what they hold, also when they are read twice or grow', () => {
  const memory = countMemory({ decisions: () => null, pending: () => null }, 10)
  const entries = (count: number) => {
    const found = counted()
    for (let at = 0; at < count; at++) found.add(0, 0, 1, 1)
    return found
  }
  memory.reload(
    [],
    [
      [0, 4],
      [1, 4],
    ],
  )
  for (let times = 0; times < 5; times++) memory.keep(0, entries(4))
  memory.keep(1, entries(4))
  // Read five times, it is kept once.
  expect([0, 1].map(memory.keeps)).toEqual([true, true])
  for (let more = 0; more < 3; more++) memory.apply({ place: 0, group: 0, decisions: 1, created_ms: 1 })
  memory.keep(2, entries(1))
  expect([0, 1, 2].map(memory.keeps)).toEqual([false, false, true])
})
