/** The reference page and the JSON Schema of decision files, with a sample made by the program's own writer. */
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { completeRecord } from '../../sdk/schema/complete.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { dataFormat } from '../core/format.ts'
import { recordFile } from '../drivers/store/sqlite/parse.ts'
import { page, rowsOf, table } from './markdown.ts'

const recorded = '2026-03-02T09:30:00.000Z'
const reviewed = '2026-03-10T16:05:00.000Z'

const given = {
  id: '2026-03-02-decision-4f1c2a9b7e30',
  title: 'Retry calls of the payment provider with growing pauses, five times at most',
  decision: 'Retry calls of the payment provider with growing pauses, five times at most',
  category: 'reliability',
  confidence: 0.8,
  stakes: 'high',
  status: 'reviewed',
  outcome: 'success',
  date: '2026-03-02',
  context: 'The provider answers with 503 for some seconds, several times a week',
  reasons: [{ type: 'pattern', text: 'Immediate retries prolonged earlier outages', strength: 0.8 }],
  alternatives_considered: ['Fail at once and show an error'],
  review_in: '7d',
  review_by: '2026-03-09',
  project: { name: 'example/shop', feature: 'checkout', pr: 214, files: ['src/payments.ts'] },
  bridge: {
    structure: 'Retry with exponential backoff',
    function: 'Survive short outages of a dependency',
    enforcement: ['An idempotency key on every call'],
    prevention: ['Retries without a pause'],
  },
  bridge_method: 'given',
  tags: ['payments', 'retries'],
  pattern: 'Back off when a dependency is overloaded',
  pre_decision_protocol: { query_run: true, guardrails_checked: true },
  quality: { score: 0.9, suggestions: [] },
  recorded_by: 'local',
  created_at: recorded,
  updated_at: reviewed,
  actual_result: 'No failed checkout during two outages',
  reviewed_at: reviewed,
  reviewed_by: 'admin',
  self_reviewed: false,
  confidence_at_record: 0.8,
  confidence_at_review: 0.8,
  review_history: [
    {
      outcome: 'success',
      actual_result: 'No failed checkout during two outages',
      reviewed_at: reviewed,
      reviewed_by: 'admin',
      self_reviewed: false,
      counts: true,
    },
  ],
  revision_count: 0,
}
completeRecord(given)

/** A reviewed decision. */
export const sample = v.parse(DecisionRecord, given)

export const decisionSchema = (): string => {
  const schema = toJsonSchema(DecisionRecord, { errorMode: 'ignore' })
  const about = { title: 'Decision', description: 'The YAML file of a decision, and what cstp.getDecision answers.' }
  const format = { type: 'integer', maximum: dataFormat, description: 'Version of the format; 1 if it is missing.' }
  return `${JSON.stringify({ ...schema, properties: { format, ...schema.properties }, ...about }, null, 2)}\n`
}

export function decisionFilePage(): string {
  const schema = toJsonSchema(DecisionRecord, { errorMode: 'ignore' })
  const about = `Each decision is a YAML file, \`decisions/<yyyy>/<mm>/<id>.yaml\` in the data directory: the record itself, not a copy of it. It may be read,
searched, diffed and put under version control. A file that is edited or added is read at the server's next start, or with
\`cstp reindex\`; one that is not valid is left as it is, and \`cstp doctor\` names it. With PostgreSQL there are no files; \`cstp export --yaml <folder>\`
writes them. Fields of one decision are the same in the file, in \`cstp.getDecision\` and in [the JSON Schema](decision.schema.json). Only the file has \`format\`, the version
of its format; without it, the version is 1. A field that may be null, a list and a flag may be missing, as in files of earlier versions.`
  return page(
    'The file of a decision',
    about,
    '## Sample',
    `\`\`\`yaml
${recordFile(sample)}\`\`\``,
    '## Fields',
    table(['Field', 'Type', 'Meaning'], rowsOf(schema, false)),
  )
}
