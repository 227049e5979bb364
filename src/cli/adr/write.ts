/** Writes a decision as an architecture decision record (MADR 4), such that reading it back gives the same decision. */

import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { sha256Hex } from '../../core/digest.ts'
import { yamlOf } from '../../core/yaml.ts'
import { importLine, sourceOf } from '../export-line.ts'
import { readAdr, stated } from './decision.ts'

/** A linked decision. */
export interface Named {
  file: string
  title: string
}

/** Relations between the records. */
export interface Neighbours {
  /** Source by decision id, for links. */
  sources: ReadonlyMap<string, string>
  /** File and title by decision id. */
  named: ReadonlyMap<string, Named>
  /** Id of the superseding decision, by the id of the superseded one. */
  supersededBy: ReadonlyMap<string, string>
}

const verbs: Record<string, string> = {
  supersedes: 'Supersedes',
  refines: 'Refines',
  depends_on: 'Depends on',
  contradicts: 'Contradicts',
  caused_by: 'Caused by',
  blocks: 'Blocks',
  relates_to: 'Relates to',
}

/** The first line as the title if the rest is separated by a blank line; else the record's own title. */
export function headOf({ decision, title }: Pick<DecisionRecord, 'decision' | 'title'>): {
  title: string
  body: string | null
} {
  const [, first, rest] = /^([^\n]{1,120})\n\n([\s\S]+)$/.exec(decision) ?? []
  return first === undefined ? { title, body: decision === title ? null : decision } : { title: first, body: rest! }
}

const item = (text: string): string => `* ${text.replaceAll('\n', '\n  ')}`
const linkTo = ({ title, file }: Named): string => `[${title.replace(/[[\]]/g, '\\$&')}](${file})`
const optionOf = (one: DecisionRecord['alternatives_considered'][number]): string =>
  typeof one === 'string' ? one : one.option

function statusOf(record: DecisionRecord, { supersededBy, named }: Neighbours): string {
  const successor = named.get(supersededBy.get(record.id) ?? '')
  if (successor) return `superseded by ${linkTo(successor)}`
  const tag = record.tags.find((one) => one.startsWith('status:'))
  return tag?.slice('status:'.length) ?? 'accepted'
}

/** The Markdown below the front matter. */
function body(record: DecisionRecord, { named }: Neighbours): string {
  const head = headOf(record)
  const options = record.alternatives_considered.map(optionOf)
  const optionReasons = record.alternatives_considered.flatMap((one) =>
    typeof one === 'string' || typeof one.reason !== 'string'
      ? []
      : [`### ${one.option.split('\n')[0]}\n\n${one.reason}`],
  )
  const links = record.links.flatMap(({ target_id, edge_type }) => {
    const target = named.get(target_id)
    return target ? [item(`${verbs[edge_type]} ${linkTo(target)}`)] : []
  })
  const review = [
    ['Outcome', record.outcome],
    ['What happened', record.actual_result],
    ['Lessons', record.lessons],
    ['Notes', record.review_notes],
  ].flatMap(([name, text]) => (text == null ? [] : [item(`${name}: ${text}`)]))
  const part = (heading: string, lines: readonly string[], between = '\n') =>
    lines.length === 0 ? [] : [`## ${heading}\n\n${lines.join(between)}`]
  return [
    `# ${head.title}`,
    ...part('Context and Problem Statement', record.context === null ? [] : [record.context]),
    ...part(
      'Decision Drivers',
      record.reasons.map(({ text }) => item(text)),
    ),
    ...part(
      'Considered Options',
      options.length === 0 ? [] : [stated(head.body ?? '')?.chosen ?? head.title, ...options].map(item),
    ),
    ...part('Decision Outcome', [head.body ?? `Chosen option: "${head.title}".`]),
    ...part('Pros and Cons of the Options', optionReasons, '\n\n'),
    ...part('Review', review),
    ...part('Links', links),
  ].join('\n\n')
}

const digestLine = /^ {2}digest: "([0-9a-f]{64})"\n/m

/** Whether a file is unchanged since an export wrote it; `foreign` if no export wrote it. */
export function stateOf(text: string): 'ours' | 'edited' | 'foreign' {
  const found = digestLine.exec(text)
  if (!found) return 'foreign'
  return sha256Hex(text.replace(found[0], '')) === found[1] ? 'ours' : 'edited'
}

/** Parses only the Markdown; null if it can't be read. */
function readBack(text: string): ReturnType<typeof readAdr> {
  try {
    return readAdr(`${text}\n`)
  } catch {
    return null
  }
}

/** The complete file: front matter and Markdown. */
export function madrOf(record: DecisionRecord, neighbours: Neighbours): string {
  const line = importLine(record, neighbours.sources)
  const text = body(record, neighbours).toWellFormed()
  const found = readBack(text)
  // Includes empty fields, so that reading back adds nothing that only the Markdown suggests.
  const given = { reasons: [], alternatives_considered: [], tags: [], links: [], ...line, context: record.context }
  const read: Record<string, unknown> = {
    decision: found?.decision,
    context: found?.context,
    reasons: found?.reasons,
    alternatives_considered: found?.alternatives,
  }
  const kept = Object.entries(given).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(read[name]))
  const front = {
    status: statusOf(record, neighbours),
    date: record.date,
    'decision-makers': [record.recorded_by],
    cstp: { digest: '', ...Object.fromEntries(kept), source: sourceOf(record) },
  }
  const whole = `---\n${yamlOf(front)}---\n\n${text}\n`.replace('  digest: ""\n', '')
  return whole.replace('\ncstp:\n', `\ncstp:\n  digest: "${sha256Hex(whole)}"\n`)
}
