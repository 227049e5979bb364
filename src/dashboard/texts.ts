/** The texts of the frame and of the pages in one language; sentences with figures are functions, so that another language can order them. */
import type { GetCalibrationResult } from '../../sdk/client.ts'
import { counted, percent, whole } from './figures.ts'

type Cell = GetCalibrationResult['cells'][number]
type Gap = { low: number; high: number }

const points = (gap: number): string => {
  const hundredths = 100 * Math.abs(gap)
  return hundredths > 0 && hundredths < 1 ? hundredths.toFixed(1) : hundredths.toFixed(0)
}

/** The interval of a gap: `overconfident by 4 to 18 points`. */
export function inPoints({ low, high }: Gap): string {
  if (high < 0) return `overconfident by ${points(high)} to ${points(low)} points`
  if (low > 0) return `underconfident by ${points(low)} to ${points(high)} points`
  return `between ${points(low)} points overconfident and ${points(high)} underconfident`
}

export const texts = {
  csv: 'Download CSV',
  frame: {
    skip: 'Skip to content',
    pages: 'Pages',
    notFound: 'Not found',
    noPage: 'There is no page at this address.',
    toOverview: 'Go to the overview',
    logOut: 'Log out',
    unreachable: 'The service cannot be reached. Is it running?',
    maybeLoggedIn: 'The service cannot be reached. You may still be logged in.',
    ended: 'Your session has ended. Log in again to continue: what you have typed is kept.',
    loggedOut: 'You are logged out.',
  },
  fresh: {
    live: (every_s: number) => `Updates every ${every_s} s`,
    paused: (at: string) => `Paused, as of ${at}`,
    failed: (at: string) => `Not updated since ${at}: the service did not answer`,
    pause: 'Pause',
    resume: 'Resume',
    reload: 'Reload',
  },
  trust: {
    by: 'By',
    period: 'Period',
    kinds: {
      agent_stakes: 'Agents by stakes',
      agent_category: 'Agents by category',
      category_stakes: 'Categories by stakes',
    },
    names: { agent: 'Agent', category: 'Category', stakes: 'Stakes' },
    all: 'All',
    said: 'said',
    came: 'came true',
    few: 'too few',
    range: (low: number, high: number) => `${(100 * low).toFixed(0)}–${percent(high)}`,
    n: (scored: number) => `n ${whole(scored)}`,
    listed: (scored: number, part: string) => `n ${whole(scored)}, scored decisions ${part}`,
    proven: (gap: Gap) => inPoints(gap),
    trend: ({ direction, recent_gap, earlier_gap }: NonNullable<Cell['trend']>) =>
      `${direction}: gap ${points(recent_gap)} points in 90 days, ${points(earlier_gap)} before`,
    /** `of migrator at critical stakes` */
    part: ({ agent, category, stakes }: Pick<Cell, 'agent' | 'category' | 'stakes'>) =>
      [agent && `of ${agent}`, category && `in ${category}`, stakes && `at ${stakes} stakes`]
        .filter(Boolean)
        .join(' ') || 'in all',
    worst: (part: string, said: number, came: number, gap: Gap, scored: number) =>
      `Not to be trusted alone: decisions ${part}. They said ${percent(said)}, ${percent(came)} came true; proven ${inPoints(gap)} (95 % for all parts together, ${counted(scored, 'decision')}).`,
    under: (part: string, said: number, came: number, gap: Gap, scored: number) =>
      `No part is proven to be overconfident. Decisions ${part} said ${percent(said)}, and ${percent(came)} came true: proven ${inPoints(gap)} (${counted(scored, 'decision')}).`,
    calm: (scored: number) =>
      `No part is proven to be over- or underconfident, by ${counted(scored, 'scored decision')}.`,
    nothing: 'No decision is scored yet.',
    empty: 'Review decisions first: a cell needs outcomes.',
    lead: 'Said: the mean confidence. Came true: the mean outcome with its 95 % interval. n: the decisions counted. A badge is what is proven, 95 % for all parts together; without one chance explains the gap.',
    counted: (scored: string) => `${scored} scored decisions: reviewed, with a confidence, and not abandoned.`,
    compare: {
      title: 'Compare two agents',
      one: 'Agent',
      other: 'With',
      figure: 'Figure',
      scored: 'Scored decisions',
      said: 'Said',
      came: 'Came true',
      gap: 'Gap',
      interval: '95 % interval of the gap',
      brier: 'Brier score',
      resolution: 'Resolution',
      proven: 'Proven',
      notProven: 'no gap',
    },
  },
  block: {
    needsAdmin: 'To see what was blocked your agent needs the scope admin.',
    all: 'All blocks',
    gone: 'The audit trail has no such entry. It may have been removed after its retention.',
    status: (agent: string, at: string, verdict: string | null) =>
      `${agent}, ${at}${verdict ? `, verdict ${verdict.replaceAll('_', ' ')}` : ''}`,
    dryRun: 'This was a dry run.',
    causes: 'Why, and what would allow it',
    noMessage: 'The rule has no message.',
    applies: 'It applies when',
    remedy: 'What would allow it:',
    approve: 'a person who approves it, or inputs to which it does not apply.',
    change: 'inputs to which it does not apply. Try them below.',
    ruleText: (file: string, line: number) => `Text of the rule (${file}, line ${line})`,
    toBreaker: 'What opened this breaker, and how to close it',
    approval: 'Approval',
    waits: 'A person decides it:',
    inputs: 'Inputs',
    /** Fields of the input that the service derives. */
    own: [
      'phase',
      'agent_id',
      'reason_count',
      'quality_score',
      'instruction_like',
      'has_deliberation',
      'has_reasoning',
      'has_query',
      'has_check',
    ],
    fields: { agent: 'agent', call: 'call', record: 'evaluation', policy: 'policy' },
    precedents: 'Precedents',
    precedentsLead: 'Decisions like this action, and how they turned out.',
    noPrecedent: 'No decision is like it.',
    similar: 'Similar blocks',
    similarLead: (rule: string) => `The latest others by ${rule}, and how they ended.`,
    similarHeads: ['When', 'Agent', 'Action', 'Ended'],
    noSimilar: 'Nothing else was blocked by it.',
    allSimilar: 'All blocks by this rule',
    tryAgain: 'Try again with these inputs',
  },
  breakers: {
    what: ['A', 'circuit breaker', 'opens when too many decisions of its scope failed within its window.'],
    needsAdmin: 'To reset a breaker your agent needs the scope admin.',
    trailNeedsAdmin: 'To see what was blocked your agent needs the scope admin.',
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
    waits: 'waits for the review of',
    trial: 'its trial',
    oneIn: 'one trial in',
    oneNow: 'one trial is allowed',
    headline: {
      open: (scope: string) => `${scope} is open: its actions are blocked.`,
      half_open: (scope: string) => `${scope} is half open: one decision is let through, its review decides.`,
      closed: (scope: string) => `${scope} is closed: it blocks nothing.`,
    },
    since: (at: string) => `since ${at}`,
    within: (window: string) => `within ${window}`,
    opened: 'What opened it',
    closed: 'It is closed.',
    byHand: 'No failure is kept for it.',
    failed: (agent: string, at: string) => `${agent}, failed ${at}.`,
    lesson: (text: string) => `Lesson: ${text}`,
    blocked: 'Blocked since',
    blockedNothing: 'It has blocked nothing since it opened.',
    blockedHeads: ['When', 'Agent', 'Action'],
    reset: 'Reset',
    whyTrial: 'Why one trial may pass',
    whyClose: 'Why it can be closed',
    allowOne: 'Allow one trial',
    close: 'Close breaker',
  },
  outcomes: {
    span: (from: string, to: string) => `${from} to ${to}`,
    changed: 'Rules changed',
  },
  trail: {
    heads: ['When', 'Agent', 'Call', 'Verdict', 'Rules', 'Decisions'],
    stopped: (rules: string) => `stopped by ${rules}`,
    warned: (rules: string) => `warned by ${rules}`,
    blocked: 'blocked',
    details: 'Details',
    withLogins: 'Show logins too',
    withoutLogins: 'Hide logins',
  },
  inbox: {
    types: {
      review_outcome: 'Review due',
      stale_pending: 'Overdue review',
      calibration_drift: 'Calibration drift',
      open_breaker: 'Breaker open',
      contradiction: 'Contradiction',
    },
    priorities: { high: 'urgent', medium: 'soon', low: 'later' },
    type: 'Type',
    allTypes: 'all',
    of: (name: string, count: string) => `${name} (${count})`,
    items: 'To review and to settle',
    approvals: 'Waiting for approval',
    approvalHeads: ['Action', 'Agent', 'Stakes', 'Until'],
    category: 'Category',
    agent: 'Agent',
    order: 'Order',
    newest: 'newest first',
    urgent: 'most urgent first',
    headline: (count: number) => (count === 1 ? '1 item waits.' : `${whole(count)} items wait.`),
    nothing: 'Nothing waits: no review is due, no drift was found, no breaker is open.',
    noMatch: 'No item matches these filters.',
    beyond: 'The list ends before this page.',
    pages: 'Pages of the inbox',
    page: (page: number, last: number) => `Page ${whole(page)} of ${whole(last)}`,
    previous: 'Previous',
    next: 'Next',
    keys: 'On an item: j and k move, r reviews.',
    keysRead: 'On an item: j and k move. To review, your agent needs the scope write.',
    other: 'The other decision',
    review: 'Review',
    reviewOf: (title: string) => `Review: ${title}`,
    reviewed: (title: string, outcome: string) => `${title}: reviewed, ${outcome}.`,
    outcome: 'Outcome',
    actual: 'What happened',
    lessons: 'What to do differently next time',
    save: 'Save the review',
    cancel: 'Cancel',
    all: (count: number) => `All ${counted(count, 'item')}`,
    waiting: (count: number) => counted(count, 'item waits', 'items wait'),
  },
}
