/** cstp import git: imports what the history of a repository decided. */
import { boundMs } from '../../sdk/schema/params.ts'
import { defaultLimit, readHistory, standingDays } from '../app/git/decisions.ts'
import { messageOf } from '../core/log.ts'
import { wholeOf } from './args.ts'
import { defineCommand, value } from './command.ts'
import { Failure, misuse } from './failure.ts'
import { gitLines, previewOf } from './git-lines.ts'
import { importFlags, runImport } from './import-run.ts'
import { withProgress } from './terminal.ts'

const maxLimit = 100_000

export const importGit = defineCommand({
  name: 'import git',
  usage: '[folder]',
  summary: 'Import what the history of a git repository decided, without a model.',
  about: [
    'Commits and merged pull requests become decisions if they decide something: breaking changes, choices (use X instead of Y, switch, replace, drop, pin …), added and removed dependencies, decision records, migrations, reverts, and conventional commits of the types refactor, build, ci and perf that say how something is built. All others are left out.',
    `Outcomes are those of the history: what was reverted failed, with the revert as the reason and as a link; what has been in the history for ${standingDays} days succeeded; newer decisions are open. A decision that gives up what an earlier one chose supersedes it. No values are invented: these decisions have no confidence and no category, and enter no score.`,
    'It reads the branch that origin/HEAD names, else the current one, and keeps the name of the author. Each decision is imported once, by the hash of its commit; later runs add new ones, and outcomes that became known.',
    'Nothing of the repository is run: git is called without hooks, programs of its configuration and network.',
  ],
  flags: {
    since: value('date', 'Only commits since this day, such as 2024-01-31.'),
    limit: value('n', `Most decisions, the newest first (default ${defaultLimit}).`),
    project: value('owner/repo', 'Project of the decisions; by default that of the git remote.'),
    ...importFlags,
  },
  examples: [
    ['cstp import git --dry-run', 'how many decisions, and the newest twenty'],
    ['cstp import git', 'the decisions of this repository'],
    ['cstp import git ../shop --since 2024-01-01', 'another repository, from a day on'],
  ],
  async run(run) {
    const { flags, words, signal, terminal } = run
    const limit = flags.limit === undefined ? defaultLimit : wholeOf('--limit', flags.limit, 1, maxLimit)
    const { since = null } = flags
    if (since !== null && boundMs(since, false) === null)
      throw misuse('--since: expected a day such as 2024-01-31, or an RFC 3339 time')
    const folder = words[0] ?? '.'
    const history = await withProgress(terminal, (progress) =>
      readHistory(folder, {
        limit,
        since: since === null ? null : new Date(boundMs(since, false)!).toISOString(),
        signal,
        progress: (read, found) => progress.show(null, `${read} commits read, ${found} decisions`),
      }).catch((error) => {
        throw new Failure(messageOf(error))
      }),
    )
    const now_ms = Date.now()
    const lines = gitLines(history, flags.project, now_ms)
    return runImport(run, { lines, preview: previewOf(history, now_ms) })
  },
})
