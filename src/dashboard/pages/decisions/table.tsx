/** The list of decisions, where nothing was asked. */
import type { ComponentChildren } from 'preact'
import { none, percent } from '../../figures.ts'
import { ToDecision } from '../../route.tsx'
import { Badge, Table } from '../../ui.tsx'
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
  const sortable = (sort: Sort, name: string): ComponentChildren => {
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
  const columns: Column[] = [
    {
      name: 'Decision',
      cell: ({ id, title }) => <ToDecision id={id}>{title}</ToDecision>,
    },
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
    { name: 'Agent', cell: ({ agent }) => agent },
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
