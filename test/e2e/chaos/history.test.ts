/** The checker of histories finds each kind of violation, and nothing in a history without one. */
import { expect, test } from 'bun:test'
import { check, emptyHistory, type Found, type History } from './history.ts'

const look = {
  scope: 'category:trip',
  state: 'open',
  start: 100,
  end: 110,
  opened: 95,
  probe: null,
  remaining_ms: 1_000,
}

/** A sound history with one of everything. */
function sound(): { history: History; found: Found } {
  const history: History = {
    ...emptyHistory(),
    recorded: [
      { start: 1, end: 2, key: 'k1', text: 'one', id: 'd1', category: 'chaos' },
      { start: 5, end: 6, key: 'k1', text: 'one', id: 'd1', category: 'chaos' },
      { start: 1_120, end: 1_130, key: 'k2', text: 'two', id: 'd2', category: 'trip' },
    ],
    reviews: [
      { start: 10, id: 'd1', outcome: 'failure', category: 'chaos' },
      { start: 1_300, id: 'd2', outcome: null, category: 'trip' },
    ],
    links: [{ source: 'd2', target: 'd1' }],
    thoughts: [
      { agent: 'a', text: 't1' },
      { agent: 'b', text: 't1' },
    ],
    events: [{ seq: 2, op: 'e' }],
    checks: ['c1'],
    looks: [
      look,
      { ...look, state: 'half_open', start: 1_140, end: 1_150, probe: 'd2', remaining_ms: 900 },
      { ...look, start: 1_400, end: 1_410, opened: 1_390 },
    ],
    sessions: [
      {
        uses: [
          { start: 1, end: 2, status: 200 },
          { start: 9, end: 12, status: 401 },
        ],
        leaving: 10,
        left: 11,
      },
    ],
  }
  const breakers = [
    { scope: 'category:chaos', opened: null, probe: null, failures: 1 },
    { scope: 'category:trip', opened: 1_390, probe: null, failures: 4 },
  ]
  const found: Found = {
    decisions: [
      {
        id: 'd1',
        text: 'one',
        category: 'chaos',
        agent: 'a',
        outcome: 'failure',
        links: [],
        thoughts: ['t1'],
        indexed: true,
      },
      {
        id: 'd2',
        text: 'two',
        category: 'trip',
        agent: 'b',
        outcome: null,
        links: ['d1'],
        thoughts: [],
        indexed: true,
      },
    ],
    waiting: [{ agent: 'b', text: 't1' }],
    chain: {
      intact: true,
      records: 2,
      seqs: [1, 2],
      ops: new Map([
        [1, 'x'],
        [2, 'e'],
      ]),
    },
    outbox: 0,
    audit: [
      { method: 'cstp.checkGuardrails', ids: [], claim: 'c1' },
      { method: 'cstp.recordDecision', ids: ['d1'], claim: null },
      { method: 'cstp.recordDecision', ids: ['d2'], claim: null },
    ],
    breakers: [breakers, structuredClone(breakers)],
    counted: { category: 'chaos', scope: 'category:chaos' },
  }
  return { history, found }
}

test('a sound history has no violation', () => {
  const { history, found } = sound()
  expect(check(history, found)).toEqual([])
})

test.each<[string, string, (history: History, found: Found) => void]>([
  ['an unclean answer', 'unclean answer: x', ({ unclean }) => void unclean.push('x')],
  [
    'a lost decision',
    'lost decision d3',
    ({ recorded }) => void recorded.push({ ...recorded[0]!, key: 'k3', id: 'd3', text: 'three' }),
  ],
  [
    'a decision with another text',
    'lost decision d1',
    (_, { decisions }) => {
      decisions[0]!.text = 'other'
    },
  ],
  [
    'a key with two decisions',
    'the key k1 gave two',
    ({ recorded }) => {
      recorded[1] = { ...recorded[2]!, key: 'k1' }
    },
  ],
  [
    'a second record of one key',
    'recorded twice: one',
    (_, { decisions }) => void decisions.push({ ...decisions[0]!, id: 'd9', outcome: null, thoughts: [] }),
  ],
  [
    'a lost review',
    'lost review of d1',
    (_, found) => {
      found.decisions[0]!.outcome = null
    },
  ],
  [
    'a lost link',
    'lost link from d2',
    (_, { decisions }) => {
      decisions[1]!.links = []
    },
  ],
  [
    'a thought that two decisions took',
    'thought in two places: a: t1',
    (_, { decisions }) => void decisions.push({ ...decisions[0]!, id: 'd3', text: 'three', outcome: null }),
  ],
  [
    'a thought that was taken and still waits',
    'thought in two places: a: t1',
    (_, { waiting }) => void waiting.push({ agent: 'a', text: 't1' }),
  ],
  [
    'a lost thought',
    'lost thought of b: t1',
    (_, found) => {
      found.waiting = []
    },
  ],
  [
    'a broken chain',
    'the chain is not intact',
    (_, { chain }) => {
      chain.intact = false
    },
  ],
  [
    'a chain that ends early',
    'the chain is not intact',
    (_, { chain }) => {
      chain.records = 1
    },
  ],
  [
    'a gap in the chain',
    'gap in the chain before 3',
    (_, { chain }) => {
      chain.seqs = [1, 3]
    },
  ],
  ['a lost event', 'lost event 2: e', (_, { chain }) => void chain.ops.set(2, 'other')],
  ['two events with one number', 'two events have the number 2', ({ events }) => void events.push(events[0]!)],
  ['a check without its audit line', 'no audit line of check c1', (_, { audit }) => void audit.shift()],
  ['a record without its audit line', 'no audit line of record d2', (_, { audit }) => void audit.pop()],
  [
    'an entry that nobody worked',
    '1 entries are left',
    (_, found) => {
      found.outbox = 1
    },
  ],
  [
    'missing vectors',
    'no vectors of d2',
    (_, { decisions }) => {
      decisions[1]!.indexed = false
    },
  ],
  [
    'a record through an open breaker',
    'recorded d2 while category:trip was seen open',
    ({ recorded }) => void Object.assign(recorded[2]!, { start: 120, end: 130 }),
  ],
  [
    'a second one beside the probe',
    'recorded d3 while category:trip was seen half_open',
    ({ recorded }, { decisions, audit }) => {
      recorded.push({ ...recorded[2]!, key: 'k3', id: 'd3', text: 'three', start: 1_160, end: 1_170 })
      decisions.push({ ...decisions[1]!, id: 'd3', text: 'three' })
      audit.push({ method: 'cstp.recordDecision', ids: ['d3'], claim: null })
    },
  ],
  [
    'a server that is behind',
    'category:trip went back',
    ({ looks }) => void looks.push({ ...look, start: 1_500, end: 1_510, remaining_ms: 0 }),
  ],
  [
    'servers that disagree',
    'servers show different breakers',
    (_, { breakers }) => {
      breakers[1]![1]!.probe = 'd2'
    },
  ],
  [
    'a failure that was not counted',
    'category:chaos counted 0 failures of 1',
    (_, { breakers }) => {
      for (const one of breakers) one[0]!.failures = 0
    },
  ],
  [
    'a session that got lost',
    'a session was refused before its end',
    ({ sessions }) => {
      sessions[0]!.leaving = null
    },
  ],
  [
    'a session that does not end',
    'a session was taken after its end',
    ({ sessions }) => void sessions[0]!.uses.push({ start: 20, end: 21, status: 200 }),
  ],
])('%s is found', (_, wanted, damage) => {
  const { history, found } = sound()
  damage(history, found)
  expect(check(history, found).some((wrong) => wrong.startsWith(wanted))).toBe(true)
})
