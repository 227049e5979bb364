/** Decisions: search and filters, all of them in the address bar, so that a link shows the same again. */
import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../call.tsx'
import { counted, whole } from '../figures.ts'
import type { View } from '../pages.ts'
import type { Query } from '../route.tsx'
import { addressOf, go, goWith, To, useArrival } from '../route.tsx'
import { Empty } from '../ui.tsx'
import { Filters } from './decisions/filters.tsx'
import { Pager } from './decisions/pager.tsx'
import { pageSize, search, type Wanted, wantedIn } from './decisions/search.ts'
import { Listed } from './decisions/table.tsx'

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
