/** Formats answers for people. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import type { Result } from '../../src/cli/connection.ts'
import { bar, fit, outcomePaint, type Paint, pad, plain, wrap } from '../../src/cli/terminal.ts'

export interface Answer {
  question: string
  found: Result<'queryDecisions'>
  /** Full records of the hits. */
  records: ReadonlyMap<string, DecisionRecord>
}

const widest = 100
const barCells = 8
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })
/** Longest reason that is shown completely. */
const shortReason = 200

const firstSentence = (text: string): string => [...sentences.segment(text)][0]?.segment.trim() ?? ''

/** The reason for a decision: its strongest reason if that is short, otherwise the first sentence of its context. */
function why({ reasons, context }: DecisionRecord): string {
  const [strongest] = [...reasons].sort((a, b) => b.strength - a.strength)
  const text = strongest && strongest.text.length <= shortReason ? strongest.text : (context ?? strongest?.text ?? '')
  return plain(firstSentence(text).replaceAll('`', ''))
}

/** At most two lines of a text. */
function twoLines(text: string, room: number): string[] {
  const lines = wrap(text, room)
  return lines.length <= 2 ? lines : [lines[0]!, fit(lines.slice(1).join(' '), room)]
}

export function showAnswer(index: number, { question, found, records }: Answer, width: number, paint: Paint): string {
  const indent = ' '.repeat(4 + barCells + 8)
  const room = Math.min(width, widest) - indent.length
  const lines = [`${paint.dim(String(index).padStart(2))}  ${paint.bold(question)}`]
  if (found.no_precedent)
    lines.push('', `    ${paint.yellow('No precedent.')} ${paint.dim('The nearest decisions are no more than noise:')}`)

  for (const { id, title, outcome, date, superseded_by } of found.decisions) {
    const score = found.scores[id]?.combined ?? 0
    const gauge = `    ${paint.cyan(pad(bar(score, barCells), barCells))}  ${score.toFixed(2)}  `
    const head = gauge + fit(plain(title), room)
    if (found.no_precedent) {
      lines.push(head)
      continue
    }
    const record = records.get(id)
    const result = outcome ?? 'open'
    const [first = '', ...rest] = twoLines(`${result}  ${date}  ${record ? why(record) : ''}`, room)
    lines.push('', head, indent + outcomePaint(paint, outcome)(result) + paint.dim(first.slice(result.length)))
    lines.push(...rest.map((line) => indent + paint.dim(line)))
    if (superseded_by !== null) {
      const successor = plain(records.get(superseded_by)?.title ?? superseded_by)
      lines.push(indent + paint.yellow(fit(`superseded by ${successor}`, room)))
    }
    if (record?.lessons) lines.push(...twoLines(`Learnt: ${plain(record.lessons)}`, room).map((line) => indent + line))
  }
  return `${lines.join('\n')}\n\n\n`
}
