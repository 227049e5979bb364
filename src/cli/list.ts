/** cstp list: decisions filtered by their fields, as a table. */
import { listDecisions } from '../methods/index.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, type Params, printCall, type Result } from './connection.ts'
import { parametersOf } from './parameters.ts'
import { asOfLines, type Column, outcomePaint, type Paint, plain, shortId, table } from './terminal.ts'

type Row = Result<'listDecisions'>['decisions'][number]

const chosen = parametersOf(listDecisions.params, { agent: 'by', tags: 'tag', date_from: 'after', date_to: 'before' })

const columns = (paint: Paint): Column<Row>[] => [
  { title: 'date', text: ({ date }) => date },
  { title: 'decision', text: ({ title }) => plain(title), grows: true, paint: (text) => paint.bold(text) },
  { title: 'category', text: ({ category }) => plain(category ?? ''), rank: 2 },
  { title: 'stakes', text: ({ stakes }) => stakes, rank: 1 },
  { title: 'sure', right: true, text: ({ confidence }) => confidence?.toFixed(2) ?? '', rank: 3 },
  {
    title: 'outcome',
    text: ({ outcome }) => outcome ?? 'pending',
    paint: (text, { outcome }) => outcomePaint(paint, outcome)(text),
  },
  { title: 'by', text: ({ recorded_by }) => plain(recorded_by), rank: 0 },
  { title: 'id', text: ({ id }) => shortId(id), paint: (text) => paint.cyan(text) },
]

export const list: Command = defineCommand({
  name: 'list',
  summary: 'List decisions by their fields.',
  about: ['The newest come first. cstp show takes an id of the last column.'],
  flags: { ...chosen.flags, ...connectionFlags },
  examples: [
    ['cstp list --category architecture --outcome failure', 'what went wrong'],
    ['cstp list --status pending --sort stakes --limit 5', 'the highest stakes that nobody reviewed'],
    ['cstp list --after 2026-01-01 --by planner --json', 'what an agent recorded this year, for a program'],
  ],
  async run(run) {
    const params = chosen.read(run.flags) as Params<'listDecisions'>
    await printCall(run, 'listDecisions', params, ({ decisions, total, offset, as_of }) => {
      const { paint, width } = run.terminal
      const notes = asOfLines(as_of).map(paint.yellow)
      if (decisions.length === 0)
        return `${[...notes, total === 0 ? 'No decision matches.' : `There are only ${total}.`].join('\n')}\n`
      const end = offset + decisions.length
      const more = end < total ? `; the next: --offset ${end}` : ''
      const foot = paint.dim(`${offset + 1} to ${end} of ${total}${more}`)
      return `${[...notes, ...table(decisions, columns(paint), width, paint.dim), '', foot].join('\n')}\n`
    })
  },
})
