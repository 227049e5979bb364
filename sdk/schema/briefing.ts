/** What a person reads first: what changed since a time, what got worse, and what was learnt. */
import * as v from 'valibot'
import { fraction } from './decision.ts'

const d = v.description

/** Scored decisions of a period and the share that came true. */
const Rate = v.object({
  scored: v.pipe(v.number(), d('Scored decisions.')),
  rate: v.pipe(v.nullable(fraction), d('Mean outcome; null without scored decisions.')),
  low: v.pipe(v.nullable(fraction), d('Lower bound of its 95 % interval; null without scored decisions.')),
  high: v.pipe(v.nullable(fraction), d('Upper bound of its 95 % interval; null without scored decisions.')),
})

/** What changed since a time, what got worse, and what was learnt. */
export const Briefing = v.object({
  since: v.pipe(v.string(), d('Start of the period, RFC 3339.')),
  decisions: v.pipe(v.number(), d('Decisions recorded in the period.')),
  reviewed: v.pipe(v.number(), d('Decisions whose review that counts came in the period.')),
  failed: v.pipe(v.number(), d('Those of them that failed.')),
  cause: v.pipe(
    v.nullable(
      v.object({
        text: v.pipe(v.string(), d('The lesson of these failures; without lessons, what happened.')),
        failures: v.pipe(v.number(), d('Failures with this text, at least two.')),
        ids: v.pipe(v.array(v.string()), d('Their decisions, at most 20.')),
      }),
    ),
    d('What most failures of the period share; null if no two share a text.'),
  ),
  rules_changed: v.pipe(v.array(v.string()), d('When rule sets came into force in the period, newest first.')),
  new_agents: v.pipe(v.array(v.string()), d('Agents whose first decision is in the period.')),
  breakers_opened: v.pipe(v.array(v.string()), d('Scopes of breakers that opened in the period and are not closed.')),
  overrides: v.pipe(v.number(), d('Evidence overruled and breakers reset by people in the period.')),
  stops: v.pipe(
    v.array(
      v.object({
        agent: v.string(),
        rule: v.pipe(v.string(), d('The rule or breaker that stopped its actions.')),
        count: v.pipe(v.number(), d('Stopped actions.')),
        first_at: v.pipe(v.string(), d('The first of them, RFC 3339.')),
        last_at: v.pipe(v.string(), d('The last of them, RFC 3339.')),
        last_seq: v.pipe(v.number(), d('Audit entry of the last one.')),
        description: v.pipe(v.string(), d('The action that was stopped last.')),
      }),
    ),
    d(
      'Stopped actions by agent and rule, the latest first; only those of the caller without the scopes admin or audit.',
    ),
  ),
  worse: v.pipe(
    v.nullable(
      v.object({
        agent: v.string(),
        since: v.pipe(v.string(), d('First day of the fall.')),
        recent: v.pipe(Rate, d('What it decided from then on, by day of review.')),
        earlier: v.pipe(Rate, d('The time before.')),
      }),
    ),
    d(
      'The agent whose results fell, as checkDrift finds it: the one that the verdict of getCalibration is about, else the surest finding. Null if there is none.',
    ),
  ),
  weeks: v.pipe(
    v.array(
      v.object({
        from: v.pipe(v.string(), d('First day of the week.')),
        complete: v.pipe(v.boolean(), d('False for the current week.')),
        rules_changed: v.pipe(v.boolean(), d('True if other rules came into force in it.')),
        ...Rate.entries,
      }),
    ),
    d('Success rate by week of decision, oldest first: of the agent in `worse`, else of all agents.'),
  ),
  lessons: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The lesson.')),
        id: v.pipe(v.string(), d('The newest decision with it.')),
        agent: v.string(),
        outcome: v.string(),
        shown: v.pipe(v.number(), d('Decisions of the period before which an agent found a decision with it.')),
      }),
    ),
    d('Lessons of reviews in the period, those shown most first.'),
  ),
})
export type Briefing = v.InferOutput<typeof Briefing>
