/** Decisions: search and filters, all of them in the address bar, so that a link shows the same again. */
import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { counted, whole } from '../../figures.ts'
import { addressOf, go, goWith, type Query, To, useArrival, type View } from '../../route.tsx'
import { Empty } from '../../ui.tsx'
import { Filters } from './filters.tsx'
import { pageSize, search, type Wanted, wantedIn } from './search.ts'
import { Listed } from './table.tsx'

const queryOf = ({ mode, ...rest }: Wanted, page: number): Query => ({
  ...rest,
  mode: mode === 'hybrid' ? null : mode,
  sort: rest.sort === 'created_at' ? null : rest.sort,
  order: rest.order === 'desc' ? null : rest.order,
  page: page > 1 ? page : null,
})

/** A search reaches back so many hits. @see the limit of `offset` in cstp.queryDecisions */
const furthestHit = 10_000

const lastPage = ({ q }: Wanted, total: number): number =>
  Math.max(1, Math.ceil((q.trim() === '' ? total : Math.min(total, furthestHit)) / pageSize))

const Nothing = ({ total }: { total: number }) =>
  total > 0 ? (
    <Empty>The list ends before this page.</Empty>
  ) : (
    <Empty>
      No decision fits. <To path="/decisions">Take all filters away</To>, or search by meaning, which needs no exact
      words.
    </Empty>
  )

export function Decisions({ place }: View) {
  const wanted = wantedIn(place.query)
  const page = Math.max(1, Number.parseInt(place.query.get('page') ?? '1', 10) || 1)
  const loaded = useCall(place.query.toString(), (signal) => search(wanted, page, signal))
  // Drawn anew by the address alone: what is being typed stays while an answer comes in.
  const filters = useMemo(
    () => <Filters wanted={wanted} apply={(next) => go(addressOf('/decisions', queryOf(next, 1)))} />,
    [place.query.toString()],
  )
  const status = useArrival<HTMLParagraphElement>(page)
  return (
    <>
      {filters}
      <Show of={loaded}>
        {(found) => {
          const { rows, total, offset } = found
          const last = lastPage(wanted, total)
          return (
            <>
              <p role="status" tabIndex={-1} ref={status}>
                {counted(total, 'decision')}
                {rows.length > 0 &&
                  total > rows.length &&
                  `, ${whole(offset + 1)} to ${whole(offset + rows.length)} shown`}
                {found.ms !== null && `, found in ${found.ms} ms`}
              </p>
              {rows.length === 0 && <Nothing total={total} />}
              {found.no_precedent && (
                <p class="notice">
                  Nothing here is close to the question: even the nearest hits are no better than chance.
                </p>
              )}
              {found.degraded && (
                <p class="notice warn">The embedder is away: these hits were found by their words alone.</p>
              )}
              {rows.length > 0 && (
                <Listed
                  found={found}
                  wanted={wanted}
                  sortBy={(sort, order) => goWith(place, { sort, order, page: null })}
                />
              )}
              <Pager page={page} last={last} query={(number) => queryOf(wanted, number)} />
            </>
          )
        }}
      </Show>
    </>
  )
}

// From page to page of a list, and to any page of a long one.

export function Pager({ page, last, query }: { page: number; last: number; query: (page: number) => Query }) {
  if (last <= 1 && page === 1) return null
  const to = (number: number, name: string, rel?: string) => (
    <To path="/decisions" query={query(number)} {...(rel && { rel })}>
      {name}
    </To>
  )
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span>{page > 1 && to(1, 'First')}</span>
      <span>{page > 1 && to(Math.min(page - 1, last), 'Previous', 'prev')}</span>
      <form
        key={page}
        onSubmit={(event) => {
          event.preventDefault()
          const wanted = Math.trunc(Number(new FormData(event.currentTarget).get('page')))
          go(addressOf('/decisions', query(Math.min(last, Math.max(1, wanted)))))
        }}
      >
        <label>
          Page <input name="page" type="number" min="1" max={last} required defaultValue={String(page)} />
        </label>{' '}
        of {whole(last)}
        <button type="submit">Go</button>
      </form>
      <span>{page < last && to(page + 1, 'Next', 'next')}</span>
      <span>{page < last && to(last, 'Last')}</span>
    </nav>
  )
}
