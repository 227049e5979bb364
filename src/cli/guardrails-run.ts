/** Implements cstp guardrails: checks rule files, runs their table tests, and backtests rules that are not in force. */

import type { RuleProblem } from '../../sdk/schema/policy.ts'
import type { Settings } from '../app/config/config.ts'
import { type Backtest, backtest, backtestShadows, checkRules, loadRules, type Tally } from '../policy/check.ts'
import { testRules } from '../policy/tables.ts'
import { rulesInForce } from './audit-replay.ts'
import type { Run } from './command.ts'
import { type Connection, type connectionFlags, withConnection } from './connection.ts'
import { Failure } from './failure.ts'
import { auditEntries, fullRecords, pages } from './pages.ts'
import { type Column, type Paint, plain, plural, print, type Terminal, tableText } from './terminal.ts'

type Output = Pick<Run, 'terminal' | 'json'>

const errorLine = ({ file, line, column, message }: RuleProblem, paint: Paint): string =>
  `${plain(file)}:${line}:${column}: ${paint.red('error')}: ${plain(message)}`

/** Findings that fail the check although a server would load the rules. */
const failing = ({ kind }: { kind: string }): boolean => kind === 'claims_only'

/** Resolves with the exit status: 1 if a file can't be loaded, or a rule does not meet the trust that its file declares. */
export async function check(
  places: readonly string[],
  run: Output,
  lists: Pick<Settings, 'categories' | 'environments' | 'packs'>,
): Promise<number> {
  const report = await checkRules(places, lists)
  const { errors, findings, claims, rules, circuit_breakers, replaced, empty } = report
  const failed = findings.filter(failing).length
  const warnings = findings.length - failed + empty.length
  await print(run, report, () => {
    const { paint } = run.terminal
    const lines = [
      ...errors.map((error) => errorLine(error, paint)),
      ...findings.map((one) => {
        const word = failing(one) ? paint.red('error') : paint.yellow('warning')
        return `${plain(one.file)}:${one.line}: ${word}: ${one.rule}: ${plain(one.message)}`
      }),
      ...empty.map((place) => `${plain(place)}: ${paint.yellow('warning')}: there are no rule files in it`),
      ...replaced.map(
        ({ what, file, line }) => `${plain(file)}:${line}: ${paint.dim('note')}: ${what} replaces the shipped one`,
      ),
      ...claims.map(
        ({ file, line, rule, fields }) =>
          `${plain(file)}:${line}: ${paint.dim('note')}: ${rule}: only the agent vouches for ${plain(fields.join(', '))}`,
      ),
      errors.length > 0
        ? `${plural(errors.length, 'error')}, ${plural(warnings, 'warning')}: a server does not start with these files`
        : `${plural(rules, 'rule')}, ${plural(circuit_breakers, 'circuit breaker')}, ${failed > 0 ? `${plural(failed, 'error')}, ` : ''}${plural(warnings, 'warning')}`,
    ]
    return `${lines.join('\n')}\n`
  })
  return errors.length + failed > 0 ? 1 : 0
}

/** Resolves with the exit status: 1 if a case fails or a file can't be loaded. */
export async function test(directories: readonly string[], run: Output): Promise<number> {
  const report = await testRules(directories, Date.now())
  const { tables, errors, rules, covered, uncovered } = report
  const cases = tables.flatMap((table) => table.cases.map((one) => ({ ...one, file: table.file })))
  const failed = cases.filter(({ problem }) => problem !== null)
  if (!run.json && cases.length + errors.length === 0)
    throw new Failure(`there are no table tests (*.test.yaml) in ${directories.join(', ')}`)
  await print(run, { ...report, cases: cases.length, failed: failed.length }, () => {
    const { paint } = run.terminal
    const lines = [
      ...errors.map((error) => errorLine(error, paint)),
      ...failed.map(
        ({ file, line, name, problem }) =>
          `${plain(file)}:${line}: ${paint.red('failed')}: ${plain(name)}: ${plain(problem ?? '')}`,
      ),
      `${cases.length - failed.length} of ${cases.length} cases pass`,
      `${covered} of ${rules} rules are fired by some case`,
      ...uncovered.map(({ rule, file, line }) => `  ${plain(file)}:${line}: ${paint.yellow(rule)} is fired by none`),
    ]
    return `${lines.join('\n')}\n`
  })
  return failed.length + errors.length > 0 ? 1 : 0
}

async function* reviewed(connection: Connection) {
  for await (const { decisions } of pages(connection)) {
    const ids = decisions.filter(({ status }) => status === 'reviewed').map(({ id }) => id)
    yield* await fullRecords(connection, ids)
  }
}

const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(share * 100)} %`)
const interval = ({ failure_low, failure_high }: Tally): string =>
  failure_low === null ? '' : `${percent(failure_low)} to ${percent(failure_high)}`

function render({ all, stopped, rules, uncertain }: Backtest, about: string, terminal: Terminal): string {
  const rows: (Tally & { name: string })[] = [
    ...rules.map((rule) => ({ name: `${rule.id} (${rule.action})`, ...rule })),
    { name: 'stopped by any rule', ...stopped },
    { name: 'all reviewed decisions', ...all },
  ]
  const number = (title: string, text: (row: Tally) => number): Column<Tally & { name: string }> => ({
    title,
    right: true,
    text: (row: Tally) => String(text(row)),
  })
  const list = tableText(
    rows,
    [
      { title: 'rule', text: ({ name }) => plain(name), grows: true },
      number('fires', ({ decisions }) => decisions),
      number('failed', ({ failed }) => failed),
      number('succeeded', ({ succeeded }) => succeeded),
      { ...number('partial', ({ partial }) => partial), rank: 1 },
      { title: 'failure rate', right: true, text: ({ failure_rate }) => percent(failure_rate) },
      { title: '95 %', text: interval },
    ],
    terminal,
  )
  const note =
    uncertain === 0
      ? []
      : [`On ${uncertain} of them a rule depends on past state that is no longer known; it counts as not fired there.`]
  const of =
    stopped.failure_low === null
      ? ''
      : `; failure rate ${percent(stopped.failure_rate)}, 95 % interval ${interval(stopped)}`
  const whole = `Would have stopped ${stopped.decisions} of ${plural(all.decisions, 'reviewed decision')}: ${stopped.failed} failed, ${stopped.succeeded} succeeded${of}.`
  return `${[list, whole, ...note, terminal.paint.dim(about)].join('\n')}\n`
}

/**
 * @param path of rules that are not in force; null for those in force that are in shadow mode
 * @throws PolicyError if the file can't be loaded
 */
export async function runBacktest(path: string | null, run: Run<typeof connectionFlags>): Promise<number> {
  // Loaded before anything is fetched: most first attempts have a typo.
  const given = path === null ? null : await loadRules([path])
  const found = await withConnection(run, async (connection) => {
    if (given !== null) return backtest(given, reviewed(connection))
    const set = await rulesInForce(connection)
    const shadows = await backtestShadows(set, auditEntries(connection, {}), reviewed(connection))
    if (shadows === null)
      throw new Failure('no rule in force is in shadow mode; to test a file: cstp guardrails backtest <file>')
    return shadows
  })
  const about =
    path === null
      ? 'By what the trail says that the rules in shadow mode would have stopped when it was decided.'
      : 'Rules see what is stored of a decision; the context of its check is not stored.'
  await print(run, found, () => render(found, about, run.terminal))
  return 0
}
