/** The list of decisions without a question. */
import type { ComponentChildren } from 'preact'
import { none, percent } from '../../figures.ts'
import { ToDecision } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Table } from '../../ui.tsx'
import type { Found, Order, Row, Sort, Wanted } from './search.ts'

const t = texts.table

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
      name: t.decision,
      cell: ({ id, title }) => <ToDecision id={id}>{title}</ToDecision>,
    },
    { name: t.category, label: sortable('category', t.category), cell: ({ category }) => category ?? none },
    { name: t.stakes, label: sortable('stakes', t.stakes), cell: ({ stakes }) => <Badge of={stakes} /> },
    {
      name: t.confidence,
      label: sortable('confidence', t.confidence),
      number: true,
      cell: ({ confidence }) => percent(confidence),
    },
    // Lists can be sorted by status, which is not the outcome.
    { name: t.outcome, cell: ({ outcome }) => <Badge of={outcome ?? 'pending'} /> },
    { name: t.agent, cell: ({ agent }) => agent },
    { name: t.day, label: sortable('created_at', t.day), cell: ({ date }) => date },
  ]
  return (
    <Table
      caption={t.decisions}
      heads={columns.map(({ cell: _, ...head }) => head)}
      rows={found.rows.map((row) => columns.map(({ cell }) => cell(row)))}
    />
  )
}
