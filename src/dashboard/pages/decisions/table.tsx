/** The list of decisions without a question. */
import type { ComponentChildren } from 'preact'
import { Agent } from '../../agent.tsx'
import { Csv } from '../../csv.tsx'
import { none, percent } from '../../figures.ts'
import { ToDecision } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Table, When } from '../../ui.tsx'
import { csvRows, type Found, type Order, type Sort, type Wanted } from './search.ts'

const t = texts.table

const fields = [
  'id',
  'title',
  'category',
  'stakes',
  'confidence',
  'status',
  'outcome',
  'recorded_by',
  'created_at',
] as const

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
  const sorted = (sort: Sort, name: string, number = false) => ({ name, label: sortable(sort, name), number })
  return (
    <>
      <Table
        caption={t.decisions}
        heads={[
          t.decision,
          sorted('category', t.category),
          sorted('stakes', t.stakes),
          sorted('confidence', t.confidence, true),
          // Lists can be sorted by status, which is not the outcome.
          t.outcome,
          t.agent,
          sorted('created_at', t.recorded),
        ]}
        rows={found.rows.map(({ id, title, category, stakes, confidence, outcome, recorded_by, created_at }) => [
          <ToDecision id={id}>{title}</ToDecision>,
          category === null ? none : <span title={category}>{category}</span>,
          <Badge of={stakes} />,
          percent(confidence),
          <Badge of={outcome ?? 'pending'} />,
          recorded_by && <Agent of={recorded_by} />,
          created_at && <When at={created_at} />,
        ])}
      />
      <Csv name="decisions" fields={fields} rows={() => csvRows(wanted)} />
    </>
  )
}
