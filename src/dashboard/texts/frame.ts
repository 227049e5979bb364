/** The texts of the frame and of shared parts: menu, palette, login, freshness, charts, failures. */
import type { Mark } from './mark.ts'

export const csv = 'Download CSV'
export const copied = 'Copied.'

export const frame = {
  skip: 'Skip to content',
  pages: 'Pages',
  notFound: 'Not found',
  noPage: 'There is no page at this address.',
  toOverview: 'Go to Today',
  search: 'Search or go to …',
  fold: 'Fold the menu',
  unfold: 'Unfold the menu',
  workspace: 'Workspace',
  logOut: 'Log out',
  scopes: (scopes: string) => `Scopes: ${scopes}`,
  unreachable: 'The service cannot be reached. Is it running?',
  maybeLoggedIn: 'The service cannot be reached. You may still be logged in.',
  ended: 'Your session has ended. Log in again to continue: what you have typed is kept.',
  loggedOut: 'You are logged out.',
}

export const login = {
  title: 'Log in',
  heading: 'Log in to cstp',
  atIssuer: 'Log in with your organisation',
  agent: 'Agent',
  token: 'Token',
  help: (code: Mark) => [
    'On the machine of the service, ',
    code('cstp dashboard'),
    ' logs you in. Agents and tokens are set in ',
    code('CSTP_AUTH_TOKENS'),
    '. Without this setting the agents are ',
    code('admin'),
    ' and ',
    code('local'),
    '; their tokens are in the files ',
    code('admin.token'),
    ' and ',
    code('token'),
    ' of the data directory.',
  ],
}

export const fresh = {
  live: (every_s: number) => `Updates every ${every_s} s`,
  paused: (at: string) => `Paused, as of ${at}`,
  failed: (at: string) => `Not updated since ${at}: the service did not answer`,
  paper: (at: string, address: string) => `As of ${at}, ${address}`,
  pause: 'Pause',
  resume: 'Resume',
  reload: 'Reload',
}

export const undo = {
  waits: (what: string) => `${what}: saved in 10 seconds.`,
  undo: 'Undo',
}

export const palette = {
  title: 'Go to',
  placeholder: 'A page, an agent, an id, an approval, or a question',
  page: 'page',
  view: 'saved view',
  decision: 'decision',
  agent: 'agent',
  approval: 'approval',
  openDecision: (id: string) => `Decision ${id}`,
  openApproval: (id: string) => `Approval ${id}`,
  decisions: 'search',
  search: (typed: string) => `Search decisions for “${typed}”`,
  save: (name: string) => `Save this view as “${name}”`,
  forget: 'Forget this saved view',
}

export const service = {
  wrongToken: 'Wrong agent or token.',
  notEnded: (status: number) => `The session was not ended (HTTP ${status}).`,
  forbidden: (scope: string) =>
    `Your agent lacks the scope ${scope}, which this needs. The operator of this service grants it.`,
  unreachable: 'The service cannot be reached. Is it running?',
  timeout: 'The service did not answer in time.',
}

export const call = {
  again: 'Try again',
  loading: 'Loading …',
}

export const ui = {
  showTable: 'Show as a table',
  all: (characters: string) => `All ${characters} characters`,
}

export const form = {
  filter: 'Filter',
  period: 'Period',
  first: 'First',
  previous: 'Previous',
  page: 'Page',
  of: (last: string) => `of ${last}`,
  go: 'Go',
  next: 'Next',
  last: 'Last',
}

/** Titles of pages, and of single-item pages. */
export const titles = {
  today: 'Today',
  inbox: 'Inbox',
  decisions: 'Decisions',
  agents: 'Agents',
  trust: 'Trust',
  calibration: 'Calibration',
  policy: 'Policy',
  rules: 'Rules',
  proof: 'Proof',
  breakers: 'Breakers',
  tools: 'Tools',
  approvals: 'Approvals',
  evidence: 'Evidence',
  deliberation: 'Deliberation',
  decision: 'Decision',
  dossier: 'Dossier',
  record: 'Record a decision',
  edit: 'Edit',
  breaker: 'Breaker',
  block: 'Block',
  approval: 'Approval',
}
