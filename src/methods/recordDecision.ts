/** cstp.recordDecision: records a decision; it is durable and searchable once the call returns. */
import * as v from 'valibot'
import { Category, filledText, Project } from '../../sdk/schema/decision.ts'
import { Durability } from '../../sdk/schema/params.ts'
import { RecordParams, RecordResult } from '../../sdk/schema/record.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { placed } from '../domain/ledger/thread/sequencer.ts'
import { record } from '../domain/lifecycle/record.ts'

const d = v.description
const { entries } = RecordParams

/** The method's parameters with the project as flat fields. */
const LogDecision = toolInput(
  v.object({
    decision: entries.decision,
    confidence: entries.confidence,
    category: v.pipe(Category, d('architecture, process, integration, tooling, security, or another one.')),
    stakes: entries.stakes,
    context: entries.context,
    action_context: entries.action_context,
    scope: entries.scope,
    reasons: entries.reasons,
    tags: entries.tags,
    pattern: v.pipe(entries.pattern, d('The principle behind it.')),
    project: v.optional(v.pipe(filledText(256), d('Project, as owner/repo.'))),
    feature: v.optional(v.pipe(filledText(256), d('Feature of the project.'))),
    pr: Project.entries.pr,
    agent_id: entries.agent_id,
    decision_id: entries.decision_id,
  }),
  ({ project: name = null, feature = null, pr, ...rest }) => ({
    ...rest,
    project: name === null && feature === null && pr === null ? null : { name, feature, pr },
  }),
)

export const recordDecision = defineMethod({
  summary: 'Records a decision: durable, indexed by meaning and by keyword.',
  params: v.object({ ...entries, durability: Durability }),
  result: RecordResult,
  scope: 'write',
  effect: 'keyed',
  keeps_texts: true,
  failure: 'record_failed',
  mcp: {
    name: 'log_decision',
    title: 'Record decision',
    description:
      'Record a decision that was already made and checked. Prefer pre_action with auto_record, which checks first. Previous queries, checks and thoughts are attached.',
    input: LogDecision,
  },
  async handle(call, { durability, ...given }) {
    const result = await record(call, given)
    if (durability === 'logged') await placed(call.thread)
    return result
  },
})
