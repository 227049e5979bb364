/** The texts of the frame and of the pages in one language; sentences with figures are functions, so that another language can order them. */
export const texts = {
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
}
