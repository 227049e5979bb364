/** cstp show and cstp context: prints one decision, or what an agent should know before a task, for people. */
import { getDecision, getSessionContext } from '../methods/index.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, type Params, printCall, type Result } from './connection.ts'
import { parametersOf } from './parameters.ts'
import { asOfLines, minute, outcomePaint, type Paint, plain, plural, shortId, type Terminal, wrap } from './terminal.ts'

type Decision = Result<'getDecision'>

const widest = 100

/** A label with its text in a column beside it. */
function labelled(label: string, text: string, { width, paint }: Terminal): string[] {
  const room = Math.max(30, Math.min(width, widest) - 14)
  return wrap(text, room).map((line, at) => `${at === 0 ? paint.dim(label.padEnd(14)) : ' '.repeat(14)}${line}`)
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

/** What a review says that does not count, or no longer. */
const remarkOf = ({ outcome, actual_result, lessons, notes }: Decision['review_history'][number]): string =>
  [outcome, actual_result, lessons && `lesson: ${lessons}`, notes].filter(Boolean).join('; ')

function facts(decision: Decision, paint: Paint): string {
  const { category, stakes, confidence, outcome, status } = decision
  const sure = confidence === null ? 'no confidence given' : `${percent(confidence)} sure`
  const end = outcomePaint(paint, outcome)(outcome ?? status)
  return [category === null ? 'no category' : plain(category), `${stakes} stakes`, sure, end].join(' · ')
}

function described(decision: Decision, terminal: Terminal): string {
  const { paint, width } = terminal
  const { project, verdict, deliberation, links, related_to } = decision
  const text = (label: string, value: string | null | undefined): string[] =>
    value ? labelled(label, plain(value), terminal) : []
  const several = (label: string, values: readonly string[]): string[] =>
    values.flatMap((value, at) => labelled(at === 0 ? label : '', plain(value), terminal))
  const place = project && [project.name, project.feature, project.pr === null ? null : `pull request ${project.pr}`]
  const by = (who: string, at: string) => `${who}, ${minute(at)} UTC`
  const lines = [
    ...asOfLines(decision.as_of).map(paint.yellow),
    ...wrap(plain(decision.decision), Math.min(width, widest)).map(paint.bold),
    facts(decision, paint),
    '',
    ...text('id', decision.id),
    ...text('origin', decision.source_key),
    ...text('recorded by', by(decision.recorded_by, decision.created_at)),
    ...text('project', place?.filter((one) => one !== null).join(', ')),
    ...several('files', project?.files ?? []),
    ...text('tags', decision.tags.join(', ')),
    ...text('context', decision.context),
    ...several(
      'reasons',
      decision.reasons.map((one) => `${one.type}: ${one.text}`),
    ),
    ...several(
      'rejected',
      decision.alternatives_considered.map((one) =>
        typeof one === 'string' ? one : [one.option, one.reason].filter(Boolean).join(': '),
      ),
    ),
    ...text('principle', decision.pattern),
    ...text(
      'verdict',
      verdict && `${verdict.verdict}${verdict.rules.length > 0 ? ` by ${verdict.rules.join(', ')}` : ''}`,
    ),
    ...text(
      'deliberation',
      deliberation && `${plural(deliberation.inputs.length, 'input')}, ${plural(deliberation.steps.length, 'step')}`,
    ),
    ...several(
      'links',
      links.map((one) => `${one.edge_type} ${shortId(one.target_id)}${one.context ? `: ${one.context}` : ''}`),
    ),
    ...several(
      'precedents',
      related_to.map(({ id, summary }) => `${shortId(id)}  ${summary}`),
    ),
    '',
    ...text('review due', decision.status === 'pending' ? decision.review_by : null),
    ...text('evidence', decision.proposal?.reason),
    ...text(
      'reviewed by',
      decision.reviewed_by && decision.reviewed_at ? by(decision.reviewed_by, decision.reviewed_at) : null,
    ),
    ...text('result', decision.actual_result),
    ...text('lesson', decision.lessons),
    ...text('notes', decision.review_notes),
    ...text('attributed', decision.attribution_reason),
    ...several(
      'other reviews',
      decision.review_history
        .filter(({ counts }) => !counts)
        .map((one) => `${by(one.reviewed_by, one.reviewed_at)}: ${remarkOf(one)}`),
    ),
    ...several(
      'updates',
      (decision.revisions ?? []).map((one) => `${by(one.updated_by, one.updated_at)}: ${one.fields.join(', ')}`),
    ),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

const shown = parametersOf(getDecision.params, { id: null, agent_id: null, tracker_scope: null, track: null })

export const show: Command = defineCommand({
  name: 'show',
  usage: '<id>',
  summary: 'Show one decision in full.',
  about: [
    'By its id, the first 8 characters of its hexadecimal part, or its key in the system that it was imported from.',
  ],
  flags: { ...shown.flags, ...connectionFlags },
  examples: [
    ['cstp show 1f0c52aa', 'one decision'],
    ['cstp show "PEP 241" --revisions', 'by the key of its origin, with what was changed'],
    ['cstp show 1f0c52aa --as-of 2026-03-03T12:00:00Z', 'as it was at that time'],
  ],
  async run(run) {
    const params = { id: run.words[0]!, ...shown.read(run.flags) } as Params<'getDecision'>
    await printCall(run, 'getDecision', params, (decision) => described(decision, run.terminal))
  },
})

const wanted = parametersOf(getSessionContext.params, {
  task_description: null,
  format: null,
  agent_id: null,
  tracker_scope: null,
  track: null,
})

export const context: Command = defineCommand({
  name: 'context',
  usage: '[task …]',
  summary: 'Print what an agent should know before a task, as Markdown.',
  about: [
    'Its record, precedents for the task, the rules, and what needs attention: the text that an agent gets at its start.',
  ],
  flags: { ...wanted.flags, ...connectionFlags },
  examples: [
    ['cstp context "Make the checkout survive an outage"', 'for a task'],
    ['cstp context --token-budget 500 --agent planner', 'a short one, for another agent'],
  ],
  async run(run) {
    const task = run.words.join(' ')
    const params = {
      ...wanted.read(run.flags),
      ...(task !== '' && { task_description: task }),
      format: run.json ? 'json' : 'markdown',
    } as Params<'getSessionContext'>
    await printCall(run, 'getSessionContext', params, ({ markdown }) => `${markdown?.trimEnd()}\n`)
  },
})
