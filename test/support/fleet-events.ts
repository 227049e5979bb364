/** What the agents of the fleet do beside deciding: blocks, approvals, deliberations, contradictions, failures and evidence. */
import { type FleetAgent, fleet } from './fleet-plan.ts'

const minuteMs = 60_000

export type At = (at_ms: number, work: () => Promise<unknown>) => void
export type Ago = (days: number) => number
export type CallAs = (agent: string, method: string, params: object) => Promise<Record<string, unknown>>

const reasonTypes = ['analysis', 'pattern', 'risk', 'intuition'] as const
export const reasonsOf = (number: number) =>
  [0, 1].slice(0, 1 + (number % 2)).map((one) => ({
    type: reasonTypes[(number + one) % reasonTypes.length]!,
    text: one === 0 ? 'The figures of last week say so.' : 'It was done like this before.',
    strength: ((number * 7 + one * 13) % 10) / 10 + 0.05,
  }))
export const resultOf = (outcome: string, number: number) =>
  outcome === 'failure'
    ? { actual_result: 'It had to be taken back.', lessons: number % 3 === 0 ? 'Try it on one region first.' : null }
    : { actual_result: outcome === 'success' ? 'It works as planned.' : null }

/** What agents asked and were refused, and what waits for a person. */
export function blocks(at: At, ago: Ago, call: CallAs): void {
  const check = (agent: FleetAgent, action: object) => call(agent, 'checkGuardrails', { action })
  for (let number = 0; number < 60; number++) {
    const agent = fleet[number % fleet.length]!
    const action = {
      description: `Drop the old copy of table ${number + 1}`,
      category: 'migration',
      stakes: 'critical',
      confidence: 0.3,
      context: { table: `copy_${number + 1}`, rows: 1_000 * (number + 1), irreversible: true },
    }
    at(ago((number + 0.5) * 6), () => check(agent, action))
    at(ago((number + 0.3) * 6), () => check(agent, { ...action, confidence: 0.8 }))
  }
  for (let number = 0; number < 12; number++) {
    const pay = { description: `Pay invoice ${4_711 + number}`, category: 'payment', stakes: 'high', confidence: 0.9 }
    const hours = number < 4 ? number + 0.2 : number * 60
    const request = { ...pay, context: { amount: 6_000 + 500 * number } }
    at(ago(hours / 24), async () => {
      const { approval } = (await check('buyer', request)) as { approval: { id: string } | null }
      if (number >= 4 && number % 3 !== 0)
        await call('approver', 'decideApproval', {
          id: approval!.id,
          decision: number % 2 === 0 ? 'approve' : 'deny',
          reason: 'Checked against the order',
        })
    })
  }
}

/** Decisions with the questions and thoughts that led to them, and pairs that contradict each other. */
export function deliberations(at: At, ago: Ago, call: CallAs): void {
  for (let number = 0; number < 30; number++) {
    const agent = fleet[number % fleet.length]!
    const days = 1 + number * 1.7
    at(ago(days) - 3 * minuteMs, () => call(agent, 'queryDecisions', { query: 'move the order queue', limit: 3 }))
    at(ago(days) - minuteMs, () => call(agent, 'recordThought', { text: 'The queue may lose what is under way.' }))
    at(ago(days), () =>
      call(agent, 'recordDecision', {
        decision: `Drain the order queue before step ${number + 1}`,
        category: 'process',
        stakes: 'medium',
        confidence: 0.8,
      }),
    )
  }
  for (const [pair, about] of ['a cache of prices', 'a second login provider', 'nightly imports'].entries())
    for (const outcome of ['success', 'failure'] as const) {
      let id = ''
      const days = 20 + pair * 9 + (outcome === 'success' ? 4 : 0)
      at(ago(days), async () => {
        const given = {
          decision: `${outcome === 'success' ? 'Buy' : 'Build'} ${about}`,
          category: 'architecture',
          confidence: 0.7,
          bridge: { structure: about, function: `have ${about}` },
          project: `shop/part-${pair}`,
        }
        id = (await call('planner', 'recordDecision', given)).decision_id as string
      })
      at(ago(days - 1), () => call('tester', 'reviewDecision', { decision_id: id, outcome }))
    }
}

/** What opened the breaker of deployments an hour ago, what it stopped since, and a breaker that waits for its probe. */
export function failures(at: At, ago: Ago, call: CallAs): void {
  const failed = (hours: number, number: number, given: object) => {
    let id = ''
    at(ago((hours + 0.5) / 24), async () => {
      id = (await call('releaser', 'recordDecision', { confidence: 0.85, ...given })).decision_id as string
    })
    at(ago(hours / 24), () =>
      call('tester', 'reviewDecision', {
        decision_id: id,
        outcome: 'failure',
        actual_result: `Region ${number} answered errors for ten minutes.`,
        lessons: 'Switch one region and wait.',
      }),
    )
  }
  for (const number of [1, 2, 3]) {
    const decision = `Switch region ${number} to the new checkout`
    failed(1.2 - number * 0.1, number, { decision, category: 'deployment', stakes: 'high' })
    failed(9 - number * 0.1, number, {
      decision: `Run the nightly import ${number}`,
      category: 'process',
      tags: ['nightly'],
    })
  }
  at(ago(1.5 / 24), () =>
    call('releaser', 'recordDecision', {
      decision: 'Run the nightly import in smaller parts',
      category: 'process',
      confidence: 0.7,
      tags: ['nightly'],
    }),
  )
  for (const [number, agent] of (['builder', 'releaser', 'builder', 'planner'] as const).entries())
    at(ago((0.7 - number * 0.1) / 24), () =>
      call(agent, 'preAction', {
        action: {
          description: `Switch region ${number + 4} to the new checkout`,
          category: 'deployment',
          stakes: 'high',
          confidence: 0.8,
          context: { region: number + 4, build: 318 },
        },
        options: { auto_record: true },
      }),
    )
}

/** Events of pull requests, each linked to a decision. */
export function evidence(at: At, ago: Ago, call: CallAs): void {
  for (let number = 1; number <= 20; number++) {
    const days = number * 5
    const event = (event_type: string, more: object) => ({
      event_type,
      ts: new Date(ago(days)).toISOString(),
      payload: { repository: 'shop/web', pr_number: number, ...more },
    })
    const events = [
      event('pr_opened', { author: 'builder', is_agent_authored: true }),
      event('ci_completed', { conclusion: 'success', all_passed: true }),
      event('pr_review_approved', { reviewer: 'maintainer', actor_is_human: number % 2 === 0, approval_count: 1 }),
    ]
    at(ago(days), async () => {
      const { first_seq } = (await call('root', 'ingestEvidence', { source: 'github', events })) as {
        first_seq: number
      }
      const given = { decision: `Merge pull request ${number} of the shop`, category: 'process', confidence: 0.85 }
      const { decision_id } = await call('builder', 'recordDecision', given)
      await call('root', 'linkEvidence', { decision_id, event_seqs: [first_seq, first_seq + 2] })
    })
  }
}
