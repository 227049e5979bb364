/** The list of decisions; after a search with the parts of their scores. */
import type { ComponentChildren } from 'preact'
import { decimal, none, percent } from '../../figures.ts'
import { ToDecision } from '../../route.tsx'
import { Badge, Table, Term } from '../../ui.tsx'
import type { Found, Order, Row, Sort, Wanted } from './search.ts'

interface Column {
  name: string
  label?: ComponentChildren
  number?: boolean
  cell(row: Row): ComponentChildren
}

export function Listed({
  found,
  wanted,
  sortBy,
}: {
  found: Found
  wanted: Wanted
  sortBy: (sort: Sort, order: Order) => void
}) {
  const asked = wanted.q.trim() !== ''
  const sortable = (sort: Sort, name: string): ComponentChildren => {
    if (asked) return name
    const now = wanted.sort === sort
    const next = now && wanted.order === 'desc' ? 'asc' : 'desc'
    return (
      <button type="button" class="sort" onClick={() => sortBy(sort, next)} aria-pressed={now}>
        {name}
        <span aria-hidden="true">{now ? (wanted.order === 'desc' ? ' ↓' : ' ↑') : ' ↕'}</span>
        {now && <span class="unseen"> {wanted.order === 'desc' ? 'descending' : 'ascending'}</span>}
      </button>
    )
  }
  const scores: Column[] = [
    {
      name: 'Distance',
      label: <Term name="distance">Distance</Term>,
      number: true,
      cell: (row) => decimal(row.distance),
    },
    ...(wanted.mode === 'semantic'
      ? []
      : (
          [
            ['semantic', 'Meaning'],
            ['keyword', 'Words'],
            ['combined', 'Score'],
          ] as const
        ).map(
          ([part, name]): Column => ({
            name,
            label: <Term name={part}>{name}</Term>,
            number: true,
            cell: (row) => decimal(row.scores?.[part]),
          }),
        )),
  ]
  const columns: Column[] = [
    {
      name: 'Decision',
      cell: ({ id, title, superseded_by }) => (
        <>
          <ToDecision id={id}>{title}</ToDecision>
          {superseded_by && (
            <span class="quiet">
              {' '}
              superseded by <ToDecision id={superseded_by}>the one above</ToDecision>
            </span>
          )}
        </>
      ),
    },
    ...(asked ? scores : []),
    { name: 'Category', label: sortable('category', 'Category'), cell: ({ category }) => category ?? none },
    { name: 'Stakes', label: sortable('stakes', 'Stakes'), cell: ({ stakes }) => <Badge of={stakes} /> },
    {
      name: 'Confidence',
      label: sortable('confidence', 'Confidence'),
      number: true,
      cell: ({ confidence }) => percent(confidence),
    },
    {
      name: 'Outcome',
      label: sortable('status', 'Outcome'),
      cell: ({ outcome }) => <Badge of={outcome ?? 'pending'} />,
    },
    ...(asked ? [] : [{ name: 'Agent', cell: ({ agent }: Row) => agent }]),
    { name: 'Day', label: sortable('created_at', 'Day'), cell: ({ date }) => date },
  ]
  return (
    <Table
      caption="Decisions"
      heads={columns.map(({ cell: _, ...head }) => head)}
      rows={found.rows.map((row) => columns.map(({ cell }) => cell(row)))}
    />
  )
}
