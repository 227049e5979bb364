/** cstp guardrails backtest: what rules that are not active would have stopped, and how that turned out. */
import { type Backtest, backtest, loadRules, type Tally } from '../../../policy/rules.ts'
import type { Connection } from '../connection.ts'
import { fullRecords } from '../export/records.ts'
import { pages } from '../pages.ts'
import { type Column, table } from '../table.ts'
import { plain, prettyJson, type Terminal } from '../terminal.ts'

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
