/** The texts of what surrounds the pages: menu, palette, login, and how fresh a page is. */

export const frame = {
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
}

export const login = {
  title: 'Log in',
  heading: 'Log in to cstp',
  agent: 'Agent',
  token: 'Token',
  /** Every second part is set as code. */
  help: [
    'Agents and tokens are set in ',
    'CSTP_AUTH_TOKENS',
    '. Without this setting the agents are ',
    'admin',
    ' and ',
    'local',
    '; their tokens are in the files ',
    'admin.token',
    ' and ',
    'token',
    ' of the data directory.',
  ],
}

export const fresh = {
  live: (every_s: number) => `Updates every ${every_s} s`,
  paused: (at: string) => `Paused, as of ${at}`,
  failed: (at: string) => `Not updated since ${at}: the service did not answer`,
  pause: 'Pause',
  resume: 'Resume',
  reload: 'Reload',
}

export const palette = {
  title: 'Go to',
  placeholder: 'A page, a saved view, or a question',
  page: 'page',
  view: 'saved view',
  decision: 'decision',
  decisions: 'search',
  search: (typed: string) => `Search decisions for “${typed}”`,
  save: (name: string) => `Save this view as “${name}”`,
  forget: 'Forget this saved view',
}
