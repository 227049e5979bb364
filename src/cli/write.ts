/** cstp record, review, link and unlink: commands with which people write decisions. */
import { Project } from '../../sdk/schema/decision.ts'
import { linkDecisions, recordDecision, reviewDecision, unlinkDecisions } from '../methods/index.ts'
import { type Command, defineCommand, type Run, toggle } from './command.ts'
import { connectionFlags, type Params, printCall, type Result } from './connection.ts'
import { misuse } from './failure.ts'
import { parametersOf } from './parameters.ts'
import { plain, shortId } from './terminal.ts'

/** The given text, or stdin for `-`. */
async function textOf(given: string): Promise<string> {
  if (given !== '-') return given
  const text = (await Bun.stdin.text()).replace(/^\ufeff/, '').trimEnd()
  if (text === '') throw misuse('stdin is empty: - reads the text from there')
  return text
}

const recorded = parametersOf(recordDecision.params, {
  decision: null,
  // Left out: fields for imports, and fields that tools set about their own deliberation.
  ...{
    created_at: null,
    recorded_by: null,
    source_key: null,
    confidence_at_record: null,
    deliberation: null,
    pre_decision_protocol: null,
  },
  ...{ enforce: null, agent_id: null, decision_id: null, reasoning_trace: null, bridge: null },
  reasons: 'reason',
  alternatives_considered: 'alternative',
  tags: 'tag',
})
const place = parametersOf(Project, { name: null, files: 'file' })

/** More suggestions than these are nagging; `--json` has all. */
const shownSuggestions = 3

export const record: Command = defineCommand({
  name: 'record',
  usage: '<decision …> --category <name> --confidence <0..1>',
  summary: 'Record a decision.',
  about: [
    'The decision is one or several words, or stdin for -. Rules are checked first, as for every decision: what they block is not recorded, and the exit status is 1. With --anyway it is recorded with the violation, unless the service itself refuses such records.',
    'The confidence is how sure you are that it will turn out well: later reviews show how far it could be trusted.',
    'Prints the id and suggestions to improve the quality of the record.',
  ],
  flags: {
    ...recorded.flags,
    ...place.flags,
    anyway: toggle('Record it even if a rule blocks it; the violation is kept with the record.'),
    ...connectionFlags,
  },
  examples: [
    ['cstp record "Use SQLite for the catalogue" --category architecture --confidence 0.8', 'a decision'],
    [
      'cstp record "Ship daily" --category process --confidence 0.7 --reason "risk: small steps" --tag release',
      'with a reason and a tag',
    ],
    ['git log -1 --format=%B | cstp record - --category tooling --confidence 0.9 --pr 700', 'the text from stdin'],
  ],
  async run(run) {
    const { project = null, ...given } = recorded.read(run.flags)
    const at = place.read(run.flags)
    const params = {
      ...given,
      decision: await textOf(run.words.join(' ')),
      project: Object.keys(at).length === 0 ? project : { name: project, ...at },
      enforce: run.flags.anyway !== true,
    } as Params<'recordDecision'>
    const { paint } = run.terminal
    await printCall(run, 'recordDecision', params, ({ decision_id, replayed, guardrail_warnings, quality }) =>
      [
        `${paint.green(replayed ? 'recorded before' : 'recorded')} ${paint.cyan(shortId(decision_id))}  ${plain(params.decision)}`,
        ...guardrail_warnings.map(({ severity, guardrail_id, message }) =>
          paint.yellow(plain(severity === 'block' ? `against ${guardrail_id}: ${message}` : `warning: ${message}`)),
        ),
        ...quality.suggestions.slice(0, shownSuggestions).map((one) => paint.dim(`could be better: ${plain(one)}`)),
        '',
      ].join('\n'),
    )
  },
})

const reviewed = parametersOf(reviewDecision.params, { decision_id: null, outcome: null, actual_result: 'result' })

export const review: Command = defineCommand({
  name: 'review',
  usage: '<id> <success|partial|failure|abandoned>',
  summary: 'Record how a decision turned out.',
  about: [
    'The decision is named by its id, the first 8 characters of its hexadecimal part, or its key in the system that it was imported from.',
    'Describe what happened and the lesson, so that later decisions improve. A later review keeps the fields that it does not set.',
    'A curator with a reason (--notes or --result) outweighs evidence, evidence another agent, another agent the recorder. What is outweighed is kept as a remark.',
  ],
  flags: { ...reviewed.flags, ...connectionFlags },
  examples: [
    ['cstp review 1f0c52aa success --result "No order was lost in May"', 'an outcome'],
    ['cstp review "PEP 241" failure --lessons "Ask who reads it first"', 'by the key of its origin'],
  ],
  async run(run) {
    const [id, outcome] = run.words as [string, string]
    const params = { decision_id: id, outcome, ...reviewed.read(run.flags) } as Params<'reviewDecision'>
    const { paint } = run.terminal
    const text = ({ decision_id, outcome: effective, counts, counted_by, settled_by }: Result<'reviewDecision'>) => {
      const name = paint.cyan(shortId(decision_id))
      if (counts) return `${name} is reviewed: ${effective}\n`
      const counted = settled_by === 'evidence' ? 'evidence' : `the review by ${plain(counted_by ?? '')}`
      return `${name}: kept as a remark; ${counted} counts: ${effective}\n`
    }
    await printCall(run, 'reviewDecision', params, text)
  },
})

const linkWords = '<source> <what it is to the target> <target>'
const ends = ({ words: [source_id, edge_type, target_id] }: Run) => ({
  source_id,
  edge_type: edge_type?.replaceAll('-', '_'),
  target_id,
})
const linked = parametersOf(linkDecisions.params, { source_id: null, target_id: null, edge_type: null })
const edgeTypes = 'supersedes, depends_on, relates_to, contradicts, refines, caused_by or blocks'

export const link: Command = defineCommand({
  name: 'link',
  usage: linkWords,
  summary: 'Link two decisions.',
  about: [
    `What the first is to the second: ${edgeTypes}. The same link again replaces yours.`,
    'Only a curator can supersede a decision of another agent; otherwise the link is stored, but does not affect the ranking.',
  ],
  flags: { ...linked.flags, ...connectionFlags },
  examples: [['cstp link 1f0c52aa supersedes 88d1e0b3 --context "Retries made it worse"', 'the newer one first']],
  async run(run) {
    const params = { ...ends(run), ...linked.read(run.flags) } as Params<'linkDecisions'>
    await printCall(run, 'linkDecisions', params, ({ edge: { source_id, edge_type, target_id, effective } }) => {
      const without = effective ? '' : ', without effect on ranking: the target was recorded by another agent'
      return `${shortId(source_id)} ${edge_type} ${shortId(target_id)}${without}\n`
    })
  },
})

const unlinked = parametersOf(unlinkDecisions.params, { source_id: null, target_id: null, edge_type: null })

export const unlink: Command = defineCommand({
  name: 'unlink',
  usage: linkWords,
  summary: 'Remove a link between two decisions.',
  about: ['Your own links; those of others need the scope curate. The exit status is 1 if there was no such link.'],
  flags: { ...unlinked.flags, ...connectionFlags },
  examples: [['cstp unlink 1f0c52aa supersedes 88d1e0b3', 'as it was linked']],
  async run(run) {
    const params = { ...ends(run), ...unlinked.read(run.flags) } as Params<'unlinkDecisions'>
    const { removed } = await printCall(run, 'unlinkDecisions', params, (result) =>
      result.removed ? 'The link is removed.\n' : 'There is no such link.\n',
    )
    return removed ? 0 : 1
  },
})
