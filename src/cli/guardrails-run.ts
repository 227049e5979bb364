/** cstp guardrails check: what is wrong with rule files, and what is suspicious about them. */
import { type Backtest, backtest, checkRules, loadRules, type Tally } from '../policy/check.ts'
import { testRules } from '../policy/tables.ts'
import type { Connection } from './connection.ts'
import { Failure } from './failure.ts'
import { fullRecords, pages } from './pages.ts'
import { type Column, plain, plural, prettyJson, type Terminal, table } from './terminal.ts'

/** Resolves with the exit status: 1 where something does not load. */
export async function check(
  paths: string[] | null,
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  const report = await checkRules(paths)
  const { errors, findings, rules, circuit_breakers } = report
  const status = errors.length > 0 ? 1 : 0
  if (json) {
    await terminal.out(prettyJson(report))
    return status
  }
  const { paint } = terminal
  const lines = [
    ...errors.map(
      ({ file, line, column, message }) => `${plain(file)}:${line}:${column}: ${paint.red('error')}: ${plain(message)}`,
    ),
    ...findings.map(
      ({ file, line, rule, message }) =>
        `${plain(file)}:${line}: ${paint.yellow('warning')}: ${rule}: ${plain(message)}`,
    ),
    errors.length > 0
      ? `${plural(errors.length, 'error')}, ${plural(findings.length, 'warning')}: a server does not start with these files`
      : `${plural(rules, 'rule')}, ${plural(circuit_breakers, 'circuit breaker')}, ${plural(findings.length, 'warning')}`,
  ]
  await terminal.out(`${lines.join('\n')}\n`)
  return status
}

// cstp guardrails test: the table tests beside rule files.

/** Resolves with the exit status: 1 where a case fails or a file does not load. */
export async function test(
  directories: readonly string[],
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  const report = await testRules(directories, Date.now())
  const { tables, errors, rules, covered, uncovered } = report
  const cases = tables.flatMap((table) => table.cases.map((one) => ({ ...one, file: table.file })))
  const failed = cases.filter(({ problem }) => problem !== null)
  const status = failed.length + errors.length > 0 ? 1 : 0
  if (json) {
    await terminal.out(prettyJson({ ...report, cases: cases.length, failed: failed.length }))
    return status
  }
  if (cases.length + errors.length === 0)
    throw new Failure(`there are no table tests (*.test.yaml) in ${directories.join(', ')}`)
  const { paint } = terminal
  const lines = [
    ...errors.map(
      ({ file, line, column, message }) => `${plain(file)}:${line}:${column}: ${paint.red('error')}: ${plain(message)}`,
    ),
    ...failed.map(
      ({ file, line, name, problem }) =>
        `${plain(file)}:${line}: ${paint.red('failed')}: ${plain(name)}: ${plain(problem ?? '')}`,
    ),
    `${cases.length - failed.length} of ${cases.length} cases hold`,
    `${covered} of ${rules} rules are fired by some case`,
    ...uncovered.map(({ rule, file, line }) => `  ${plain(file)}:${line}: ${paint.yellow(rule)} is fired by none`),
  ]
  await terminal.out(`${lines.join('\n')}\n`)
  return status
}

// cstp guardrails backtest: what rules that are not active would have stopped, and how that turned out.

async function* reviewed(connection: Connection) {
  for await (const { decisions } of pages(connection)) {
    const ids = decisions.filter(({ status }) => status === 'reviewed').map(({ id }) => id)
    yield* await fullRecords(connection, ids)
  }
}

const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(share * 100)} %`)
const interval = ({ failure_low, failure_high }: Tally): string =>
  failure_low === null ? '' : `${percent(failure_low)} to ${percent(failure_high)}`

function render({ all, stopped, rules, uncertain }: Backtest, { width, paint }: Terminal): string {
  const rows: (Tally & { name: string })[] = [
    ...rules.map((rule) => ({ name: `${rule.id} (${rule.action})`, ...rule })),
    { name: 'stopped by any block rule', ...stopped },
    { name: 'all reviewed decisions', ...all },
  ]
  const number = (title: string, text: (row: Tally) => number): Column<Tally & { name: string }> => ({
    title,
    right: true,
    text: (row: Tally) => String(text(row)),
  })
  const lines = table(
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
    width,
    paint.bold,
  )
  const note =
    uncertain === 0
      ? []
      : [`On ${uncertain} of them a rule rests on the state of that time, which is gone: it counts as not fired there.`]
  const about = 'Rules see what is kept of a decision; the context that its check was given is not.'
  return `${[...lines, '', ...note, paint.dim(about)].join('\n')}\n`
}

/** @throws PolicyError where the file does not load */
export async function runBacktest(
  path: string,
  open: () => Promise<Connection>,
  { terminal, json }: { terminal: Terminal; json: boolean },
): Promise<number> {
  // Looked at before anything is asked: most first attempts have a slip.
  const set = await loadRules([path])
  const connection = await open()
  try {
    const found = await backtest(set, reviewed(connection))
    await terminal.out(json ? prettyJson(found) : render(found, terminal))
    return 0
  } finally {
    await connection.close()
  }
}
