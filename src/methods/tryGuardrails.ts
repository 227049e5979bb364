/** cstp.tryGuardrails: backtests draft rules, and shows what the rules in shadow mode have found. */
import * as v from 'valibot'
import { fraction, text } from '../../sdk/schema/decision.ts'
import { ruleActions } from '../../sdk/schema/guardrail.ts'
import { boundMs, DateBound } from '../../sdk/schema/params.ts'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { byCurators, defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { seesAll } from '../core/caller.ts'
import { dayMs, timestamp } from '../core/time.ts'
import { listPins } from '../domain/gateway/pins.ts'
import { describeRule } from '../domain/policy/rules/describe.ts'
import { lintRules } from '../domain/policy/rules/lint.ts'
import { completions } from '../domain/policy/trial/completions.ts'
import { mostChanged, mostDecisions, mostEntries, shadowResults, tryDraft } from '../domain/policy/trial/trial.ts'

const d = v.description
const draftFile = 'draft.yaml'
const defaultDays = 7

const pinnedTools = async ({ store }: Call): Promise<string[]> =>
  (await listPins(store.keyed, { server: null, waiting: false })).map(({ tool }) => tool)

const rate = v.nullable(fraction)
const tally = {
  decisions: v.pipe(v.number(), d('Decisions to which the rule applies.')),
  failed: v.pipe(v.number(), d('Those that failed.')),
  succeeded: v.pipe(v.number(), d('Those that succeeded.')),
  partial: v.pipe(v.number(), d('Those that partly succeeded.')),
  abandoned: v.pipe(v.number(), d('Those that were abandoned.')),
  failure_rate: v.pipe(
    rate,
    d('Failure rate among those that failed, succeeded or partly succeeded; null if there are none.'),
  ),
  failure_low: v.pipe(rate, d('Lower bound of its 95 % interval.')),
  failure_high: v.pipe(rate, d('Upper bound of its 95 % interval.')),
}
const Tally = v.object(tally)
const Backtest = v.object({
  all: v.pipe(Tally, d(`The latest decisions with an outcome, at most ${mostDecisions}.`)),
  stopped: v.pipe(Tally, d('Decisions that at least one rule would have blocked.')),
  rules: v.pipe(
    v.array(v.object({ id: v.string(), action: v.pipe(v.string(), d('Its effect when it fires.')), ...tally })),
    d('Decisions on which each rule fires.'),
  ),
  uncertain: v.pipe(
    v.number(),
    d('Decisions for which a rule depends on data that is not known now; the rule counts as not fired.'),
  ),
})

export const tryGuardrails = defineMethod({
  summary:
    'Backtests a draft of guardrails: the verdicts it would have given, and the outcomes of the decisions it would have blocked.',
  params: v.object({
    rules: v.optional(
      v.pipe(
        text(100_000),
        d('A guardrail file (YAML). Without it, the answer covers rules in shadow mode, and what a draft may contain.'),
      ),
    ),
    since: v.optional(
      v.pipe(DateBound, d(`Checks on or after this day or time; by default those of the last ${defaultDays} days.`)),
    ),
  }),
  result: v.object({
    since: v.pipe(v.string(), d('RFC 3339.')),
    errors: v.pipe(v.array(RuleProblem), d('Why the draft does not load; nothing is backtested then.')),
    rules: v.pipe(
      v.array(
        v.object({
          id: v.string(),
          action: v.pipe(v.picklist(ruleActions), d('Its effect when it fires.')),
          applies: v.pipe(v.string(), d('The condition of the rule, in words.')),
        }),
      ),
      d('The rules of the draft.'),
    ),
    findings: v.pipe(
      v.array(
        v.object({
          rule: v.pipe(v.string(), d('Id of the rule.')),
          line: v.pipe(v.number(), d('Line of the rule, from 1.')),
          message: v.pipe(v.string(), d('What is suspicious, and what was probably meant.')),
        }),
      ),
      d('Suspicious rules of the draft, as `cstp guardrails check` reports them.'),
    ),
    replay: v.pipe(
      v.nullable(
        v.object({
          evaluations: v.pipe(
            v.number(),
            d(
              `Checks evaluated again, among the latest ${mostEntries} audit entries; dry runs are left out, and a preAction counts once.`,
            ),
          ),
          fired: v.pipe(
            v.array(
              v.object({ id: v.string(), evaluations: v.pipe(v.number(), d('Checks on which the rule fires.')) }),
            ),
            d('Figures for each rule of the draft.'),
          ),
          changed: v.pipe(v.number(), d('Checks that would get a different verdict.')),
          stopped: v.pipe(v.number(), d('Those of them that were not stopped and would be.')),
          agents: v.pipe(v.number(), d('Agents of these.')),
          examples: v.pipe(
            v.array(
              v.object({
                seq: v.pipe(v.number(), d('Id of the audit entry.')),
                at: v.pipe(v.string(), d('When it was checked, RFC 3339, UTC.')),
                agent: v.string(),
                description: v.pipe(v.string(), d('The action that was checked.')),
                before: v.pipe(v.string(), d('The original verdict.')),
                after: v.pipe(v.string(), d('The verdict with the draft.')),
                rules_after: v.pipe(v.array(v.string()), d('Rules that would fire.')),
                uncertain: v.pipe(v.array(v.string()), d('Why this is not certain; empty if it is certain.')),
              }),
            ),
            d(
              `The newest of these checks, at most ${mostChanged}; empty for a caller who may not read the audit trail of others.`,
            ),
          ),
          uncertain: v.pipe(v.number(), d('Checks that depend on redacted text or on data that was not stored.')),
        }),
      ),
      d(
        'The checks since `since`, evaluated with the rules in force plus the draft, as if no rule were in shadow mode.',
      ),
    ),
    backtest: v.pipe(v.nullable(Backtest), d('The draft applied to decisions with a known outcome.')),
    shadow: v.pipe(
      v.nullable(Backtest),
      d(
        'What the rules in shadow mode would have blocked since `since`, from the audit trail; null if there are no such rules.',
      ),
    ),
    completions: v.pipe(
      v.nullable(
        v.record(
          v.string(),
          v.array(
            v.object({
              text: v.string(),
              about: v.pipe(v.nullable(v.string()), d('What it means; null for a value.')),
            }),
          ),
        ),
      ),
      d(
        'For editors: what may follow a key (`field`, `operator`, `action`, `category`, `context.tool`, …), with the categories, agents, tags and tools in use; under the empty name the keys of a rule, under `conditions` those of a condition. Null with `rules`.',
      ),
    ),
  }),
  scope: 'admin',
  also: byCurators,
  effect: 'read',
  cost: 64,
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
      findings: lintRules(draft?.rules.map(({ rule }) => rule) ?? []).map(({ rule, line, message }) => ({
        rule,
        line,
        message,
      })),
      replay: trial && {
        ...trial.replay,
        examples: (seesAll(call.caller) ? trial.replay.examples : []).map(
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
      completions: yaml === undefined ? await completions(call, await pinnedTools(call), since_ms) : null,
    }
  },
})
