/** cstp approvals: lists requests that wait for a person, and answers them. */
import { ApprovalState } from '../../sdk/schema/approval.ts'
import { choice, defineCommand, type Run, value } from './command.ts'
import { asAdmin, connectionFlags, printCall, type Result } from './connection.ts'
import { type Column, minute, type Paint, plain, tableText } from './terminal.ts'

type Approval = Result<'getApproval'>

const flags = {
  ...connectionFlags,
  agent: value('name', 'Agent to answer as (CSTP_AGENT); by default admin, with its file.'),
} as const

const columns = (paint: Paint): Column<Approval>[] => [
  { title: 'id', text: ({ id }) => id, paint: (text) => paint.bold(text) },
  { title: 'state', text: ({ state }) => state, rank: 1 },
  { title: 'requester', text: ({ requester }) => plain(requester), paint: (text) => paint.cyan(text) },
  { title: 'until', text: ({ expires_at }) => minute(expires_at), rank: 2 },
  { title: 'rules', text: ({ rules }) => plain(rules.map(({ guardrail_id }) => guardrail_id).join(' ')), rank: 3 },
  { title: 'action', text: ({ action }) => plain(action.description), grows: true },
]

const share = (value: number): string => `${Math.round(100 * value)} %`

/** The confidence of the request, and how often the agent was right at these stakes. */
function confidenceOf({ action, agent_record }: Approval): [string, string][] {
  const stated = action.confidence === null ? 'not stated' : share(action.confidence)
  if (agent_record === undefined) return [['confidence', stated]]
  const { stakes, overall, verdict } = agent_record
  const { mean_confidence: said, accuracy, scored } = overall
  const record =
    said === null || accuracy === null
      ? `${scored} scored`
      : `said ${share(said)}, came true ${share(accuracy)} of ${scored}`
  return [
    ['confidence', `${stated}; at ${stakes} stakes so far: ${record} (${verdict.interpretation.replaceAll('_', ' ')})`],
  ]
}

/** Everything that a person needs to decide. */
function described(approval: Approval): string {
  const { id, state, requester, on_behalf_of, action, rules, expires_at, decided_by, reason, url } = approval
  const { changes = [], not_shown = [], earlier_denials = [] } = approval
  const lines: [string, string][] = [
    ['approval', `${id}, ${state}`],
    ['requester', on_behalf_of === null ? requester : `${requester}, who says it acts for ${on_behalf_of}`],
    ['action', action.description],
    [
      'category',
      [action.category, action.stakes, action.project, action.pr && `pull request ${action.pr}`, action.scope]
        .filter(Boolean)
        .join(', '),
    ],
    ...confidenceOf(approval),
    ['context', JSON.stringify(action.context)],
    ...changes.map(({ field, before, after, rule }): [string, string] => [
      'changed',
      `${field} from ${JSON.stringify(before)} to ${JSON.stringify(after)} by the rule ${rule}`,
    ]),
    ...not_shown.map((text): [string, string] => ['not shown', text]),
    ...earlier_denials.map(({ id: denied, description, decided_by: by, reason: why }): [string, string] => [
      'denied',
      `${denied} by ${by}${why === null ? '' : ` (${why})`}: ${description}`,
    ]),
    ...rules.map(({ guardrail_id, message }): [string, string] => ['rule', `${guardrail_id}: ${message}`]),
    ['until', expires_at],
    ...(decided_by === null
      ? []
      : [['decided by', `${decided_by}${reason === null ? '' : `: ${reason}`}`] as [string, string]]),
    ['page', url],
  ]
  return lines.map(([name, text]) => `${name.padEnd(10)}  ${plain(text)}\n`).join('')
}

const listFlags = {
  state: choice([...ApprovalState.options, 'all'], 'Only those in this state, or all; by default pending.'),
  ...flags,
} as const

async function list(run: Run<typeof listFlags>): Promise<number> {
  const { terminal } = run
  const { state = 'pending' } = run.flags
  const params = { limit: 500, ...(state !== 'all' && { state }) }
  await printCall(run, 'listApprovals', params, ({ total, approvals }) =>
    total === 0
      ? `No approval is ${state === 'all' ? 'known' : state}.\n`
      : tableText(approvals, columns(terminal.paint), terminal),
  )
  return 0
}

const show = defineCommand({
  name: 'approvals show',
  usage: '<id>',
  summary: 'Print a request in full.',
  about: ['The action, its agent, the rules that require approval, and when the request expires.'],
  flags,
  examples: [['cstp approvals show 7F3K-Q2MX', 'before you answer']],
  async run(run) {
    await printCall(asAdmin(run), 'getApproval', { id: run.words[0]! }, described)
  },
})

const answer = (decision: 'approve' | 'deny', summary: string) =>
  defineCommand({
    name: `approvals ${decision}`,
    usage: '<id>',
    summary,
    about: [
      'The first answer wins, and an agent never answers its own request. A grant applies to exactly the action that is shown, once, or for as long as the rule says.',
    ],
    flags: {
      reason: value('text', 'Reason, shown to the requester.'),
      ...flags,
    },
    examples: [[`cstp approvals ${decision} 7F3K-Q2MX --reason "checked with finance"`, 'with the reason']],
    async run(run) {
      const { reason = null } = run.flags
      const params = { id: run.words[0]!, decision, reason }
      const text = ({ id, state, requester }: Approval) => `${id} is ${state} for ${plain(requester)}\n`
      await printCall(asAdmin(run), 'decideApproval', params, text)
    },
  })

export const approvals = defineCommand({
  name: 'approvals',
  summary: 'List approval requests, and grant or deny them.',
  about: [
    'A rule with action step_up allows an action only after a person has granted it. Without an argument the command lists the pending requests.',
    'Granting and denying need the scope approve. An unanswered request is denied when it expires.',
  ],
  verbs: [show, answer('approve', 'Grant a request.'), answer('deny', 'Deny a request.')],
  flags: listFlags,
  examples: [
    ['cstp approvals', 'what waits'],
    ['cstp approvals approve 7F3K-Q2MX --reason "checked with finance"', 'grant a request'],
  ],
  run: (run) => list(asAdmin(run)),
})
