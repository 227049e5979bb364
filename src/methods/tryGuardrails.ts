/** cstp.tryGuardrails: backtests draft rules, and shows what the rules in shadow mode have found. */
import * as v from 'valibot'
import { fraction, text } from '../../sdk/schema/decision.ts'
import { ruleActions } from '../../sdk/schema/guardrail.ts'
import { boundMs, DateBound } from '../../sdk/schema/params.ts'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { dayMs, timestamp } from '../core/time.ts'
import { describeRule } from '../domain/guardrail/describe.ts'
import { mostChanged, mostDecisions, mostEntries, shadowResults, tryDraft } from '../domain/guardrail/trial.ts'

const d = v.description
const draftFile = 'draft.yaml'
const defaultDays = 7

const rate = v.nullable(fraction)
const tally = {
  decisions: v.pipe(v.number(), d('Decisions that it applies to.')),
  failed: v.pipe(v.number(), d('Those that failed.')),
  succeeded: v.pipe(v.number(), d('Those that succeeded.')),
  partial: v.pipe(v.number(), d('Those that partly succeeded.')),
  abandoned: v.pipe(v.number(), d('Those that were abandoned.')),
  failure_rate: v.pipe(rate, d('Of those that failed, succeeded or partly did; null if there are none.')),
  failure_low: v.pipe(rate, d('Of its 95 % interval.')),
  failure_high: v.pipe(rate, d('Of its 95 % interval.')),
}
const Tally = v.object(tally)
const Backtest = v.object({
  all: v.pipe(Tally, d(`The latest decisions with an outcome, at most ${mostDecisions}.`)),
  stopped: v.pipe(Tally, d('Those that some rule would have stopped.')),
  rules: v.pipe(
    v.array(v.object({ id: v.string(), action: v.pipe(v.string(), d('What it does when it fires.')), ...tally })),
    d('Those on which each rule fires.'),
  ),
  uncertain: v.pipe(
    v.number(),
    d('Decisions on which a rule depends on what is no longer known; it counts as not fired.'),
  ),
})

export const tryGuardrails = defineMethod({
  summary:
    'Tries a draft of guardrails on the past: what it would have said, and what came of what it would have stopped.',
  params: v.object({
    rules: v.optional(
      v.pipe(
        text(100_000),
        d('A guardrail file (YAML). By default nothing is tried: the answer is about rules in shadow mode.'),
      ),
    ),
    since: v.optional(
      v.pipe(DateBound, d(`Checks on this day or instant, or later; by default of the last ${defaultDays} days.`)),
    ),
  }),
  result: v.object({
    since: v.pipe(v.string(), d('RFC 3339.')),
    errors: v.pipe(v.array(RuleProblem), d('Why the draft does not load; nothing is tried then.')),
    rules: v.pipe(
      v.array(
        v.object({
          id: v.string(),
          action: v.pipe(v.picklist(ruleActions), d('What it does when it fires.')),
          applies: v.pipe(v.string(), d('What the rule looks at, in words.')),
        }),
      ),
      d('The rules of the draft.'),
    ),
    replay: v.pipe(
      v.nullable(
        v.object({
          evaluations: v.pipe(
            v.number(),
            d(`Checks judged again, among the latest ${mostEntries} lines of the trail.`),
          ),
          fired: v.pipe(
            v.array(v.object({ id: v.string(), evaluations: v.pipe(v.number(), d('Checks on which it fires.')) })),
            d('Of each rule of the draft.'),
          ),
          changed: v.pipe(v.number(), d('Those that would get another verdict.')),
          examples: v.pipe(
            v.array(
              v.object({
                seq: v.pipe(v.number(), d('Line of the trail.')),
                at: v.pipe(v.string(), d('When it was checked, RFC 3339, UTC.')),
                agent: v.string(),
                description: v.pipe(v.string(), d('The action that was checked.')),
                before: v.pipe(v.string(), d('The verdict then.')),
                after: v.pipe(v.string(), d('With the draft.')),
                rules_after: v.pipe(v.array(v.string()), d('What would fire.')),
                uncertain: v.pipe(v.array(v.string()), d('Why that is not certain; empty if it is.')),
              }),
            ),
            d(`The newest of them, at most ${mostChanged}.`),
          ),
          uncertain: v.pipe(v.number(), d('Checks that depend on redacted text or on what was not kept.')),
        }),
      ),
      d('The checks since then, by the rules in force with the draft over them, as if none were in shadow mode.'),
    ),
    backtest: v.pipe(v.nullable(Backtest), d('The draft on decisions whose outcome is known.')),
    shadow: v.pipe(
      v.nullable(Backtest),
      d('What rules in force in shadow mode would have stopped since then, by the trail; null if there are none.'),
    ),
  }),
  scope: 'admin',
  effect: 'read',
  failure: 'guardrail_eval_failed',
  async handle(call, { rules: yaml, since }) {
    const since_ms = (since === undefined ? null : boundMs(since, false)) ?? call.now() - defaultDays * dayMs
    const inForce = await call.policy.current()
    const built = yaml === undefined ? null : await call.policy.draft({ name: draftFile, text: yaml })
    const draft = built?.set ?? null
    const trial = draft && (await tryDraft(call, inForce, draft, since_ms))
    return {
      since: timestamp(since_ms),
      errors: built?.errors ?? [],
      rules: (draft?.rules ?? []).map(({ rule }) => ({
        id: rule.id,
        action: rule.action,
        applies: describeRule(rule),
      })),
      replay: trial && {
        ...trial.replay,
        examples: trial.replay.examples.map(
          ({ seq, at, agent, description, before, after, rules_after, uncertain }) => ({
            seq,
            at,
            agent,
            description,
            before,
            after,
            rules_after,
            uncertain,
          }),
        ),
      },
      backtest: trial?.backtest ?? null,
      shadow: await shadowResults(call, inForce, since_ms),
    }
  },
})
