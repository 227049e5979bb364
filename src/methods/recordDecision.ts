/** cstp.recordDecision: records a decision; it is durable and searchable once the call returns. */
import * as v from 'valibot'
import { Category, nonEmptyText, Project } from '../../sdk/schema/decision.ts'
import { Durability } from '../../sdk/schema/params.ts'
import { RecordParams, RecordResult } from '../../sdk/schema/record.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { placed } from '../domain/ledger/thread/sequencer.ts'
import { record } from '../domain/lifecycle/record.ts'

const d = v.description
const { entries } = RecordParams

/** The tool leaves out what a model seldom has or may not give. */
const { decision_id, ...toolEntries } = v.omit(RecordParams, [
  ...(['alternatives_considered', 'review_in', 'reasoning_trace', 'bridge', 'pre_decision_protocol'] as const),
  ...(['deliberation', 'idempotency_key', 'created_at', 'recorded_by', 'source_key', 'confidence_at_record'] as const),
]).entries

/** The method's parameters with the project as flat fields. */
const LogDecision = toolInput(
  v.object({
    ...toolEntries,
    category: v.pipe(Category, d('architecture, process, integration, tooling, security, or another one.')),
    pattern: v.pipe(entries.pattern, d('The principle behind it.')),
    project: v.optional(v.pipe(nonEmptyText(256), d('Project, as owner/repo.'))),
    feature: v.optional(v.pipe(nonEmptyText(256), d('Feature of the project.'))),
    pr: Project.entries.pr,
    decision_id,
  }),
  ({ project: name = null, feature = null, pr, ...rest }) => ({
    ...rest,
    project: name === null && feature === null && pr === null ? null : { name, feature, pr },
  }),
)

export const recordDecision = defineMethod({
  summary: 'Records a decision: durable, indexed by meaning and by keyword.',
  params: v.object({
    ...entries,
    durability: Durability,
    enforce: v.pipe(
      v.optional(v.boolean(), false),
      d('Refuse what a rule blocks, even if the service only warns when a decision is recorded.'),
    ),
  }),
  result: RecordResult,
  scope: 'write',
  effect: 'keyed',
  cost: 2,
  keeps_texts: true,
  failure: 'record_failed',
  mcp: {
    name: 'log_decision',
    title: 'Record decision',
    description:
      'Record a decision that was already made and checked. Prefer pre_action with auto_record, which checks first. Previous queries, checks and thoughts are attached.',
    input: LogDecision,
  },
  async handle(call, { durability, enforce, ...given }) {
    const isStrict = enforce && call.record_guardrails === 'warn'
    const result = await record(isStrict ? { ...call, record_guardrails: 'block' } : call, given)
    if (durability === 'logged') await placed(call.thread)
    return result
  },
})
