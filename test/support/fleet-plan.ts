/** What the agents of the fleet decide: how sure they say they are, and how often they are right. Fixed, so that tests know the truth. */

/** The days that the history lasts. */
export const historyDays = 400
export const fleet = [
  'migrator',
  'releaser',
  'scout',
  'planner',
  'builder',
  'tester',
  'analyst',
  'librarian',
  'buyer',
] as const
export type FleetAgent = (typeof fleet)[number]
export const categories = ['architecture', 'deployment', 'migration', 'security', 'process', 'payment'] as const
const stakesOf = ['low', 'medium', 'high', 'critical'] as const
type Stakes = (typeof stakesOf)[number]

/** What is true of the agents, as the points by which results exceed what they say. */
export const truths = {
  /** Overconfident at critical stakes only, and a little underconfident elsewhere: calibrated on the whole. */
  hidden: { agent: 'migrator', stakes: 'critical', points: -17 },
  /** Calibrated until so many days ago. */
  drifting: { agent: 'releaser', days: 60, points: -30 },
  /** Overconfident until so many days ago. */
  improving: { agent: 'scout', days: 90, points: -16 },
} as const

interface Habits {
  decisions: number
  /** Share of the decisions in the last 90 days; by default as many as on other days. */
  lately?: number
  /** Decisions of ten by stakes. */
  stakes: Record<Stakes, number>
  /** Result less confidence. */
  gap(stakes: Stakes, days_ago: number): number
}
const others: Habits = {
  decisions: 240,
  stakes: { low: 2, medium: 3, high: 2, critical: 3 },
  gap: (stakes) => (stakes === 'critical' ? 0.04 : 0.01),
}
const habits: Record<FleetAgent, Habits> = {
  migrator: {
    decisions: 480,
    stakes: { low: 1, medium: 2, high: 1, critical: 6 },
    gap: (stakes) => (stakes === truths.hidden.stakes ? truths.hidden.points / 100 : 0.13),
  },
  releaser: {
    ...others,
    decisions: 400,
    gap: (_, days_ago) => (days_ago < truths.drifting.days ? truths.drifting.points / 100 : 0.02),
  },
  scout: {
    ...others,
    decisions: 180,
    lately: 0.45,
    gap: (_, days_ago) => (days_ago > truths.improving.days ? truths.improving.points / 100 : 0.02),
  },
  planner: others,
  builder: others,
  tester: others,
  analyst: others,
  librarian: others,
  buyer: others,
}

/** A small generator with a fixed seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export interface Planned {
  agent: FleetAgent
  days_ago: number
  text: string
  category: (typeof categories)[number]
  stakes: Stakes
  confidence: number
  /** Null for what nobody has reviewed. */
  review: { outcome: 'success' | 'failure' | 'abandoned'; after_days: number; by: FleetAgent } | null
}

const deeds = ['Move', 'Replace', 'Split', 'Measure', 'Retire', 'Shard', 'Document', 'Rewrite', 'Cache', 'Encrypt']
const things = [
  'the order queue',
  'the search index',
  'the checkout page',
  'the invoice job',
  'the session store',
  'the price feed',
  'the login service',
  'the audit export',
  'the image resizer',
  'the stock ledger',
  'the mail gateway',
  'the report builder',
]
const causes = [
  'because it is slow at noon',
  'before the licence ends',
  'so that a restart loses nothing',
  'to halve its cost',
  'since two teams change it at once',
  'for the new region',
]

const confidences: Record<'critical' | 'other', number[]> = {
  critical: [0.8, 0.85, 0.9],
  other: [0.6, 0.65, 0.7, 0.75, 0.8, 0.85],
}

/** All decisions, oldest first. Results follow the true probability with no chance in them: of each hundred alike as many as it says. */
export function plan(): Planned[] {
  const random = seeded(20_260_701)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const dueOf = new Map<string, number>()
  /** Whether the next of a kind comes true. */
  const comesTrue = (kind: string, probability: number): boolean => {
    const before = dueOf.get(kind) ?? random()
    dueOf.set(kind, before + probability)
    return Math.floor(before + probability) > Math.floor(before)
  }
  const planned = fleet.flatMap((agent) => {
    const { decisions, stakes: weights, gap, lately = 90 / historyDays } = habits[agent]
    const bag = stakesOf.flatMap((stakes) => Array.from({ length: weights[stakes] }, () => stakes))
    const recent = Math.round(decisions * lately)
    return Array.from({ length: decisions }, (_, at) => {
      const place = random()
      const days_ago =
        at < recent
          ? (90 * (at + place)) / recent
          : 90 + ((historyDays - 90) * (at - recent + place)) / (decisions - recent)
      return { agent, days_ago, stakes: bag[at % bag.length]!, gap }
    })
  })
  planned.sort((a, b) => b.days_ago - a.days_ago)
  return planned.map(({ agent, days_ago, stakes, gap }, at): Planned => {
    const confidence = pick(confidences[stakes === 'critical' ? 'critical' : 'other'])
    const points = gap(stakes, days_ago)
    const after_days = 1 + Math.floor(random() * 6)
    const [chance, by] = [random(), pick(fleet.filter((one) => one !== agent))]
    const open = days_ago <= after_days + 0.2 || chance < 0.1
    const kind = `${agent} ${stakes} ${points}`
    const outcome =
      chance > 0.98 ? 'abandoned' : comesTrue(kind, Math.min(1, confidence + points)) ? 'success' : 'failure'
    return {
      agent,
      days_ago,
      text: `${pick(deeds)} ${pick(things)} ${pick(causes)} (${at + 1})`,
      category: pick(categories),
      stakes,
      confidence,
      review: open ? null : { outcome, after_days, by: at % 9 === 0 ? agent : by },
    }
  })
}
