/** The texts of blocks, breakers, the audit trail and the workbench. */

import { counted, whole } from '../figures.ts'
import { labels, verdicts } from './labels.ts'
import type { Mark, Part } from './mark.ts'

export const block = {
  ...labels,
  all: 'All blocks',
  gone: 'The audit trail has no such entry. It may have been removed after its retention.',
  notYours: (agent: string) =>
    `The calls of ${agent} have no such entry. To see those of others your agent needs the scope admin or audit.`,
  dryRun: 'This was a dry run.',
  causes: 'Why, and what would allow it',
  noMessage: 'The rule has no message.',
  applies: 'It applies when',
  remedy: 'What would allow it:',
  approve: 'a person who approves it, or inputs to which it does not apply.',
  change: 'inputs to which it does not apply. Try them below.',
  ruleText: (file: string, line: number) => `Text of the rule (${file}, line ${line})`,
  toBreaker: 'What opened this breaker, and how to close it',
  waits: 'A person decides it:',
  /** Fields of the input that the service fills in: those of an action that no caller gives. */
  own: [
    'phase',
    'agent_id',
    'reason_count',
    'quality_score',
    'instruction_like',
    'secret_masked',
    'has_deliberation',
    'has_reasoning',
    'has_query',
    'has_check',
  ],
  fields: { agent: 'agent', call: 'call', record: 'evaluation', policy: 'policy' },
  precedentsLead: 'Decisions like this action, and how they turned out.',
  noPrecedent: 'No decision is like it.',
  sum: (outcomes: [outcome: string, count: number][]) =>
    outcomes.map(([outcome, count]) => `${whole(count)} ${outcome}`).join(', '),
  lesson: (text: string) => `Lesson: ${text}`,
  similar: 'Similar blocks',
  similarLead: (rule: string) => `The latest others by ${rule}, and how they ended.`,
  similarHeads: ['Action', 'Agent', 'When', 'Ended'],
  noSimilar: 'Nothing else was denied by it.',
  allSimilar: 'All blocks by this rule',
  tryAgain: 'Try again with these inputs',
}

export const breakers = {
  what: (term: Mark) => [
    'A ',
    term('circuit breaker'),
    ' opens when too many decisions of its scope failed within its window.',
  ],
  needsAdmin: 'To reset a breaker your agent needs the scope admin.',
  ownOnly: (agent: string) => `Actions of ${agent}. Those of others need the scope admin or audit.`,
  none: 'No breaker is configured. Define breakers under circuit_breakers in a rule file.',
  caption: 'Circuit breakers',
  heads: {
    scope: 'Scope',
    state: 'State',
    failures: 'Failures',
    window: 'Window',
    since: 'Since',
    next: 'Next',
  },
  of: (count: string, threshold: string) => `${count} of ${threshold}`,
  all: 'All breakers',
  waits: (link: Mark) => ['waits for the review of ', link('its trial')],
  oneIn: (time: Part) => ['one trial in ', time],
  oneNow: 'one trial is allowed',
  headline: {
    open: (scope: string) => `${scope} is open: its actions are denied.`,
    half_open: (scope: string) => `${scope} is half open: one decision is let through, its review decides.`,
    closed: (scope: string) => `${scope} is closed: it blocks nothing.`,
  },
  since: (at: Part) => ['opened ', at],
  within: (window: string) => `within ${window}`,
  opened: 'What opened it',
  byHand: 'No failure is kept for it.',
  failed: (agent: string, at: Part) => [`${agent}, failed `, at, '.'],
  lesson: (text: string) => `Lesson: ${text}`,
  blocked: 'Denied since',
  blockedNothing: 'It has denied nothing since it opened.',
  blockedHeads: ['Action', 'Agent', 'When'],
  reset: 'Reset',
  whyTrial: 'Why one trial may pass',
  whyClose: 'Why it can be closed',
  allowOne: 'Allow one trial',
  close: 'Close breaker',
}

export const trail = {
  ...labels,
  heads: ['Call', 'Agent', 'When', 'Verdict', 'Rules'],
  stopped: (rules: Part) => ['stopped by ', rules],
  warned: (rules: Part) => ['warned by ', rules],
  blocked: 'deny',
  nothing: 'Nothing but logins is in the trail yet.',
  ownOnly: (agent: string) => `Calls of ${agent}. Those of others need the scope admin or audit.`,
  stopsOnly: 'What was stopped, of every agent. All calls need the scope admin or audit.',
  noMatch: 'No entry matches.',
  request: (id: string) => `request ${id}`,
  withLogins: 'Show logins too',
  withoutLogins: 'Hide logins',
  method: 'Method',
  caption: 'Audit trail',
  range: (calls: string, at: string) => `${calls}, ${at} and earlier`,
  pages: 'Pages of the trail',
  older: 'Older',
}

export const workbench = {
  /** Draft that the button for an example fills in. */
  draft: `guardrails:
  - id: unsure-at-high-stakes
    mode: shadow
    action: block
    condition_stakes: high
    condition_confidence: "< 0.7"
    message: High stakes need a confidence of 0.7`,
  title: 'Workbench',
  lead: 'Write or paste a draft of rules. It is tried as you type, over the checks of the last week and over decisions whose outcome is known; nothing is put in force.',
  rules: 'Rules as YAML',
  keys: 'Ctrl-Space shows what fits, arrow keys choose, Enter takes it, Escape closes.',
  offers: (count: number) => counted(count, 'suggestion'),
  suggestions: 'Suggestions',
  trying: 'Trying …',
  example: 'Take an example',
  wrong: (line: number, message: string) => `Line ${line}: ${message}`,
  applies: (condition: string) => `applies when ${condition}`,
  replay: 'The last week again',
  changed: (changed: number, all: number) =>
    changed === 0
      ? `None of ${counted(all, 'check')} would get another verdict.`
      : `${whole(changed)} of ${counted(all, 'check')} would get another verdict.`,
  fired: (id: string, count: number) => `${id} would fire ${counted(count, 'time')}`,
  uncertain: (count: number) =>
    `${counted(count, 'check')} depend on redacted text, on circuit breakers or on what was not kept.`,
  changeHeads: ['Action', 'Agent', 'When', 'Verdict', 'Rules'],
  backtest: 'On decisions whose outcome is known',
  lastWeek: (actions: number, agents: number) =>
    actions === 0
      ? 'Last week it would have stopped nothing more.'
      : `Last week it would have stopped ${counted(actions, 'more action')} of ${counted(agents, 'agent')}.`,
  catchesNothing: (actions: number, agents: number, all: number): string =>
    `${workbench.lastWeek(actions, agents)} Of ${counted(all, 'decision')} whose outcome is known it would have stopped none that is scored.`,
  catches: (
    [actions, agents]: [number, number],
    count: number,
    rate: string,
    interval: string,
    all: string,
    failed: number,
    succeeded: number,
  ): string =>
    `${workbench.lastWeek(actions, agents)} Of ${counted(count, 'decision')} like these whose outcome is known ${rate} failed (${interval}), of all ${all}: it catches ${counted(failed, 'failure')} and costs ${counted(succeeded, 'success', 'successes')}.`,
  heads: ['Rule', 'Applies to', 'Failed', 'Succeeded', 'Failure rate', '95 % interval'],
  stopped: 'Stopped by any of them',
  all: 'All with an outcome',
  between: (low: string, high: string) => `${low} to ${high}`,
  unknown: (count: number) =>
    `On ${counted(count, 'decision')} a rule depends on what is no longer known; it counts as not fired there.`,
  next: 'In shadow mode it stops nothing, and what it would have stopped is shown below.',
  put: 'Put in shadow mode',
  needsCurate:
    'To put it there takes the scope curate or admin: the role lead has it. The link leads there with this draft.',
  copyLink: 'Copy the link',
  file: 'shadow.yaml',
  done: (rules: string, file: string) => `Now in shadow mode: ${rules} (${file}).`,
  readOnly:
    'This service has no folder of rules that it may write. Save the file in a folder of GUARDRAILS_PATHS, then run',
  command: 'cstp guardrails reload',
  save: 'Save the file',
  shadow: 'In shadow mode',
  shadowLead: 'What rules in shadow mode would have stopped in the last week, and the outcomes.',
  inWords: 'Applies when',
}

export const tryOut = {
  ...labels,
  title: 'Try an action',
  lead: 'See which rules match and why. This is a dry run: it records no decision, and its row in the audit trail says so.',
  action: 'Planned action',
  actionExample: 'Deploy the new checkout',
  confidence: 'Confidence in %',
  scope: 'Scope of rules',
  tags: 'Tags, separated by commas',
  context: 'Context as JSON',
  contextExample: '{"affects_production": true}',
  submit: 'Try it',
}

/** Results of a dry run. */
export const judged = {
  allowed: 'Allowed.',
  blocked: 'Denied.',
  checked: (evaluated: string, violations: string, warnings: string) =>
    `${evaluated} checked, ${violations}, ${warnings}.`,
  failed: (why: string) => `It could not be evaluated: ${why}`,
}

export const guardrails = {
  ...labels,
  rulesInForce: 'Rules',
  broken: (file: string, line: number, message: string) =>
    `${file}, line ${line}: ${message}. The last valid rules stay in force.`,
  none: 'No rules are in force. Put rule files (YAML) into a folder and set GUARDRAILS_PATHS to it.',
  appliesTo: 'Applies to',
  everything: 'everything',
  always: 'Applies always',
  fired: (from: string | null) => (from === null ? 'Fired, all time' : `Fired since ${from}`),
  silent: (count: number) => `${counted(count, 'rule')} that did not fire in this period`,
  shadow: (action: string) => `shadow, would ${(verdicts[action] ?? action).replaceAll('_', ' ')}`,
  force: 'Put in force …',
  forced: (file: string, old: string) =>
    `Saved as ${file}. Put it into the folder of rules, remove this rule from ${old}, then run cstp guardrails reload.`,
  inForceBy: (id: string, agent: string, at: string) => `# ${id}: put in force by ${agent}, ${at}`,
  file: 'File',
  policy: 'Policy',
}
