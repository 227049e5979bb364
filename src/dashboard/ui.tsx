/** The parts that every page is made of. */
import { type ComponentChildren, Fragment } from 'preact'
import { useId, useState } from 'preact/hooks'
import { none, relative, time } from './figures.ts'
import type { Mark } from './texts/mark.ts'
import { type TermName, terms } from './texts/terms.ts'
import { texts } from './texts.ts'

const t = texts.ui

/** A technical term with its definition, shown on hover and on focus, hidden by Escape. */
export function Term({ name, children }: { name: TermName; children: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <span class="term">
      <button
        type="button"
        onMouseEnter={() => setOpen(true)}
        onMouseLeave={() => setOpen(false)}
        aria-describedby={open ? id : undefined}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}
      >
        {children}
      </button>
      {open && (
        <span role="tooltip" id={id}>
          {terms[name]}
        </span>
      )}
    </span>
  )
}

/** Words of a sentence as a term with its definition. */
export const term =
  (name: TermName): Mark =>
  (text) => <Term name={name}>{text}</Term>

/** Words of a sentence as code. */
export const code: Mark = (text) => <code>{text}</code>

/** A part of a page under a heading. @param at its anchor, for links on the same page */
export function Panel({
  title,
  lead,
  folded,
  at,
  children,
}: {
  title: string
  lead?: ComponentChildren
  /** Closed at first: for content that few readers need, or, on a narrow screen, for what would make the page long. */
  folded?: boolean | 'narrow'
  at?: string
  children: ComponentChildren
}) {
  const id = useId()
  const heading = <h2 id={id}>{title}</h2>
  const body = (
    <>
      {lead && <p class="quiet">{lead}</p>}
      {children}
    </>
  )
  return (
    <section class="panel" aria-labelledby={id} id={at}>
      {(folded === 'narrow' ? matchMedia('(max-width: 46rem)').matches : folded) ? (
        <details>
          <summary>{heading}</summary>
          {body}
        </details>
      ) : (
        <>
          {heading}
          {body}
        </>
      )}
    </section>
  )
}

/** A figure with its name. */
export function Figure({
  name,
  term,
  value,
  note,
}: {
  name: string
  term?: TermName
  value: ComponentChildren
  note?: ComponentChildren
}) {
  return (
    <div class="figure">
      <dt>{term ? <Term name={term}>{name}</Term> : name}</dt>
      <dd>
        <strong>{value}</strong>
        {note && <span class="quiet">{note}</span>}
      </dd>
    </div>
  )
}

const tones: Record<string, string> = {
  success: 'good',
  failure: 'bad',
  partial: 'warn',
  critical: 'bad',
  high: 'warn',
  open: 'bad',
  half_open: 'warn',
  urgent: 'bad',
  soon: 'warn',
  closed: 'good',
  allow: 'good',
  deny: 'bad',
  step_up: 'warn',
  warn: 'warn',
  warning: 'warn',
  approved: 'good',
  denied: 'bad',
  observed: 'good',
  attested: 'warn',
  INSUFFICIENT: 'warn',
}

/** A state as a word, and as a colour. */
export const Badge = ({ of }: { of: string }) => {
  const word = texts.verdicts[of] ?? of
  return <span class={`badge ${tones[word] ?? ''}`}>{word.replaceAll('_', ' ')}</span>
}

/** How long ago a time is; on hover and on paper in full, in the reader's time zone, with UTC if that differs. */
export const When = ({ at }: { at: string }) => (
  <time dateTime={at} title={time(at)}>
    {relative(at)}
  </time>
)

/** A share as a bar, next to its figure and hidden from screen readers. */
export const Track = ({ share }: { share: number }) => (
  <span class="track" aria-hidden="true">
    <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />
  </span>
)

/** Why there is nothing to show, and what to do about it. */
export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>

/** The head of a column: its name, or how the name is shown and whether the column has figures. */
type Head = string | { name: string; label?: ComponentChildren; number?: boolean }

/** The head of a column of figures, with the definition of its name. */
export const figures = (name: string, term?: TermName): Head => ({
  name,
  label: term && <Term name={term}>{name}</Term>,
  number: true,
})

interface TableProps {
  caption: string
  heads: readonly Head[]
  rows: ComponentChildren[][]
}

/** A table that becomes a list of cards on a narrow screen, unless it is dense: then the first cell of a row names it. */
export function Table({
  caption,
  heads,
  rows,
  empty,
  dense,
}: TableProps & {
  /** Shown in place of a table without rows. */
  empty?: ComponentChildren
  dense?: boolean
}) {
  if (rows.length === 0 && empty) return <Empty>{empty}</Empty>
  const columns = heads.map((head) => (typeof head === 'string' ? { name: head, label: head, number: false } : head))
  return (
    <div class="scroll" {...(dense && { tabIndex: 0, role: 'region', 'aria-label': caption })}>
      {/* Explicit roles, because some screen readers do not read a table that is laid out as cards as a table. */}
      <table role="table" class={dense ? 'dense' : ''}>
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, label, number }, at) => (
              <th key={at} scope="col" role="columnheader" class={number ? 'number' : ''}>
                {label ?? name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((cells, row) => (
            <tr key={row} role="row">
              {cells.map((cell, at) => {
                const Cell = dense && at === 0 ? 'th' : 'td'
                const kinds = [columns[at]!.number && 'number', cell === none && 'none']
                return (
                  <Cell
                    key={at}
                    role={at === 0 ? 'rowheader' : 'cell'}
                    data-label={columns[at]!.name}
                    class={kinds.filter(Boolean).join(' ')}
                  >
                    {cell}
                  </Cell>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The figures of a chart as a table behind a summary. */
export const ChartTable = (table: TableProps) => (
  <details>
    <summary>{t.showTable}</summary>
    <Table {...table} dense />
  </details>
)

/** A list, or why there is nothing in it. */
export function List<T>({
  of,
  empty,
  children,
  ...rest
}: {
  of: readonly T[]
  empty?: ComponentChildren
  class?: string
  children: (one: T) => ComponentChildren
}) {
  if (of.length === 0) return empty ? <Empty>{empty}</Empty> : null
  return (
    <ul class="plain" {...rest}>
      {of.map((one, at) => (
        <li key={at}>{children(one)}</li>
      ))}
    </ul>
  )
}

/** Events in order, each with a line about when and by whom, or why there are none. */
export const Timeline = ({
  of,
  empty,
}: {
  of: readonly { head: ComponentChildren; body: ComponentChildren }[]
  empty?: ComponentChildren
}) =>
  of.length === 0 ? (
    <Empty>{empty}</Empty>
  ) : (
    <ol class="timeline">
      {of.map(({ head, body }, at) => (
        <li key={at}>
          <p class="quiet">{head}</p>
          {body}
        </li>
      ))}
    </ol>
  )

/** A text with its line breaks. */
export const prose = (text: string | null | undefined) =>
  text && (
    <span class="prose" dir="auto">
      {text}
    </span>
  )

/** Names and values; pairs without a value are left out. */
export function Pairs({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  const given = rows.filter(([, value]) => value)
  if (given.length === 0) return null
  return (
    <dl class="pairs">
      {given.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
