/** What clients of several servers saw, and what must be true of the database after it. Every rule names what it found wrong. */

/** When a call began and ended by the client's clock, ms. */
export interface Span {
  start: number
  end: number
}

/** One look at a breaker. */
export interface Look extends Span {
  scope: string
  state: string
  /** Ms; null while it is closed. */
  opened: number | null
  probe: string | null
  remaining_ms: number
}

/** The answers that the clients got. */
export interface History {
  /** Every acknowledgement of a record, those of repeated calls too. */
  recorded: (Span & { key: string; text: string; id: string; category: string })[]
  /** Reviews that were sent, with the outcome where they were acknowledged. */
  reviews: { start: number; id: string; outcome: string | null; category: string }[]
  links: { source: string; target: string }[]
  thoughts: { agent: string; text: string }[]
  events: { seq: number; op: string }[]
  /** Ids that the checks were sent with. */
  checks: string[]
  looks: Look[]
  /** A session that was used: what it was answered, and when its end was first sent for and acknowledged. */
  sessions: { uses: (Span & { status: number })[]; leaving: number | null; left: number | null }[]
  /** Answers that no client should get. */
  unclean: string[]
}

export const emptyHistory = (): History => ({
  recorded: [],
  reviews: [],
  links: [],
  thoughts: [],
  events: [],
  checks: [],
  looks: [],
  sessions: [],
  unclean: [],
})

/** What is there in the end. */
export interface Found {
  decisions: {
    id: string
    text: string
    category: string
    agent: string
    outcome: string | null
    links: string[]
    thoughts: string[]
    indexed: boolean
  }[]
  /** Thoughts that no decision has taken yet. */
  waiting: { agent: string; text: string }[]
  chain: { intact: boolean; records: number; seqs: number[]; ops: Map<number, string> }
  outbox: number
  audit: { method: string; ids: string[]; claim: string | null }[]
  /** Breakers as each server shows them. */
  breakers: { scope: string; opened: number | null; probe: string | null; failures: number }[][]
  /** The breaker that counts and never opens. */
  counted: { category: string; scope: string }
}

type Rule = (history: History, found: Found) => string[]

const counts = <T>(list: readonly T[], keyOf: (one: T) => string): Map<string, number> => {
  const result = new Map<string, number>()
  for (const one of list) result.set(keyOf(one), (result.get(keyOf(one)) ?? 0) + 1)
  return result
}
const twice = (map: Map<string, number>): string[] => [...map].filter(([, times]) => times > 1).map(([key]) => key)

const clean: Rule = ({ unclean }) => unclean.map((answer) => `unclean answer: ${answer}`)

const recordsKept: Rule = ({ recorded }, { decisions }) => {
  const texts = new Map(decisions.map(({ id, text }) => [id, text]))
  return recorded.flatMap(({ id, text }) => (texts.get(id) === text ? [] : [`lost decision ${id}: ${text}`]))
}

const keysOnce: Rule = ({ recorded }, { decisions }) => {
  const ids = Map.groupBy(recorded, ({ key }) => key)
  return [
    ...[...ids].flatMap(([key, all]) =>
      new Set(all.map(({ id }) => id)).size > 1 ? [`the key ${key} gave two decisions`] : [],
    ),
    ...twice(counts(decisions, ({ text }) => text)).map((text) => `recorded twice: ${text}`),
  ]
}

const reviewsKept: Rule = ({ reviews }, { decisions }) => {
  const outcomes = new Map(decisions.map(({ id, outcome }) => [id, outcome]))
  return reviews.flatMap(({ id, outcome }) =>
    outcome === null || outcomes.get(id) === outcome ? [] : [`lost review of ${id}: ${outcome}`],
  )
}

const linksKept: Rule = ({ links }, { decisions }) => {
  const targets = new Map(decisions.map((one) => [one.id, one.links]))
  return links.flatMap(({ source, target }) =>
    targets.get(source)?.includes(target) ? [] : [`lost link from ${source} to ${target}`],
  )
}

const thoughtsOnce: Rule = ({ thoughts }, { decisions, waiting }) => {
  const places = [
    ...decisions.flatMap(({ agent, thoughts }) => thoughts.map((text) => `${agent}: ${text}`)),
    ...waiting.map(({ agent, text }) => `${agent}: ${text}`),
  ]
  const there = new Set(places)
  return [
    ...twice(counts(places, (place) => place)).map((thought) => `thought in two places: ${thought}`),
    ...thoughts.flatMap(({ agent, text }) =>
      there.has(`${agent}: ${text}`) ? [] : [`lost thought of ${agent}: ${text}`],
    ),
  ]
}

const chainWhole: Rule = ({ events }, { chain }) => [
  ...(chain.intact && chain.records === chain.seqs.length ? [] : ['the chain is not intact']),
  ...chain.seqs.flatMap((seq, index) => (seq === index + 1 ? [] : [`gap in the chain before ${seq}`])).slice(0, 1),
  ...events.flatMap(({ seq, op }) => (chain.ops.get(seq) === op ? [] : [`lost event ${seq}: ${op}`])),
  ...twice(counts(events, ({ seq }) => String(seq))).map((seq) => `two events have the number ${seq}`),
]

const auditKept: Rule = ({ checks, recorded }, { audit }) => {
  const claims = new Set(audit.map(({ claim }) => claim))
  const written = new Set(audit.filter(({ method }) => method.endsWith('recordDecision')).flatMap(({ ids }) => ids))
  return [
    ...checks.flatMap((claim) => (claims.has(claim) ? [] : [`no audit line of check ${claim}`])),
    ...[...new Set(recorded.map(({ id }) => id))].flatMap((id) =>
      written.has(id) ? [] : [`no audit line of record ${id}`],
    ),
  ]
}

const vectorsMade: Rule = (_, { decisions, outbox }) => [
  ...(outbox === 0 ? [] : [`${outbox} entries are left in the outbox`]),
  ...decisions.flatMap(({ id, indexed }) => (indexed ? [] : [`no vectors of ${id}`])),
]

/** While a breaker was seen to block, and nobody had begun to review its probe, nothing it watches is recorded. */
const blocked: Rule = ({ recorded, reviews, looks }) => {
  const reviewed = new Map<string, number>()
  for (const { id, start } of reviews) reviewed.set(id, Math.min(start, reviewed.get(id) ?? start))
  const first = new Map<string, (typeof recorded)[number]>()
  for (const one of recorded) if (!first.has(one.id)) first.set(one.id, one)
  return looks.flatMap(({ scope, start, end, remaining_ms, probe, state }) => {
    if (remaining_ms === 0) return []
    const until = Math.min(start + remaining_ms, (probe !== null && reviewed.get(probe)) || Number.POSITIVE_INFINITY)
    return [...first.values()]
      .filter((one) => `category:${one.category}` === scope && one.start > end && one.end < until && one.id !== probe)
      .map(({ id }) => `recorded ${id} while ${scope} was seen ${state}`)
  })
}

/** What one server has shown no other one shows undone. */
const forward: Rule = ({ looks }) => {
  const wrong: string[] = []
  for (const [scope, own] of Map.groupBy(looks, (look) => look.scope)) {
    const [byEnd, byStart] = [own.toSorted((a, b) => a.end - b.end), own.toSorted((a, b) => a.start - b.start)]
    let latest = 0
    let at = 0
    for (const { start, opened } of byStart) {
      for (; at < byEnd.length && byEnd[at]!.end < start; at++) latest = Math.max(latest, byEnd[at]!.opened ?? 0)
      if (opened !== null && opened < latest) wrong.push(`${scope} went back to an earlier opening`)
    }
  }
  return wrong
}

const breakersAgree: Rule = ({ reviews }, { breakers, decisions, counted }) => {
  const failures = decisions.filter(
    ({ category, outcome }) => category === counted.category && outcome === 'failure',
  ).length
  const acknowledged = new Set(
    reviews.filter((one) => one.category === counted.category && one.outcome === 'failure').map(({ id }) => id),
  ).size
  const shown = breakers[0]?.find(({ scope }) => scope === counted.scope)?.failures
  return [
    ...(breakers.every((one) => JSON.stringify(one) === JSON.stringify(breakers[0]))
      ? []
      : ['servers show different breakers']),
    ...(shown === failures && failures >= acknowledged
      ? []
      : [`${counted.scope} counted ${shown} failures of ${failures}, ${acknowledged} of them acknowledged`]),
  ]
}

const sessionsHold: Rule = ({ sessions }) =>
  sessions.flatMap(({ uses, leaving, left }) =>
    uses.flatMap(({ start, end, status }) => {
      if (status === 401 && (leaving === null || end < leaving)) return ['a session was refused before its end']
      if (status === 200 && left !== null && start > left) return ['a session was taken after its end']
      return []
    }),
  )

const rules = {
  clean,
  recordsKept,
  keysOnce,
  reviewsKept,
  linksKept,
  thoughtsOnce,
  chainWhole,
  auditKept,
  vectorsMade,
  blocked,
  forward,
  breakersAgree,
  sessionsHold,
} satisfies Record<string, Rule>

/** Everything that is wrong, at most some of each kind. */
export const check = (history: History, found: Found): string[] =>
  Object.values(rules).flatMap((rule) => rule(history, found).slice(0, 5))
