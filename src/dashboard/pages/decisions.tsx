/** Decisions: search and filters, all of them in the address bar, so that a link shows the same again. */

import { Show, useCall } from '../call.tsx'
import { counted, whole } from '../figures.ts'
import type { View } from '../pages.ts'
import type { Query } from '../route.tsx'
import { addressOf, go, goWith, To } from '../route.tsx'
import { Empty } from '../ui.tsx'
import { Filters } from './decisions/filters.tsx'
import { pageSize, search, type Wanted, wantedIn } from './decisions/search.ts'
import { Listed } from './decisions/table.tsx'

const queryOf = ({ mode, ...rest }: Wanted, page: number): Query => ({
  ...rest,
  mode: mode === 'hybrid' ? null : mode,
  sort: rest.sort === 'created_at' ? null : rest.sort,
  order: rest.order === 'desc' ? null : rest.order,
  page: page > 1 ? page : null,
})

export function Decisions({ place }: View) {
  const wanted = wantedIn(place.query)
  const page = Math.max(1, Number.parseInt(place.query.get('page') ?? '1', 10) || 1)
  const loaded = useCall(place.query.toString(), (signal) => search(wanted, page, signal))
  return (
    <>
      <Filters
        key={place.query.toString()}
        wanted={wanted}
        apply={(next) => go(addressOf('/decisions', queryOf(next, 1)))}
      />
      <Show of={loaded}>
        {(found) => {
          const { rows, total, offset } = found
          if (rows.length === 0)
            return (
              <Empty>
                No decision fits.{' '}
                <To path="/decisions" query={{ q: wanted.q, mode: wanted.mode === 'hybrid' ? null : wanted.mode }}>
                  Take all filters away
                </To>
                , or search by meaning, which needs no exact words.
              </Empty>
            )
          const last = Math.max(1, Math.ceil(total / pageSize))
          return (
            <>
              <p role="status">
                {counted(total, 'decision')}
                {total > rows.length && `, ${whole(offset + 1)} to ${whole(offset + rows.length)} shown`}
                {found.ms !== null && `, found in ${found.ms} ms`}
              </p>
              {found.no_precedent && (
                <p class="notice">
                  Nothing here is close to the question: even the nearest hits are no better than chance.
                </p>
              )}
              {found.degraded && (
                <p class="notice warn">The embedder is away: these hits were found by their words alone.</p>
              )}
              <Listed
                found={found}
                wanted={wanted}
                sortBy={(sort, order) => goWith(place, { sort, order, page: null })}
              />
              {last > 1 && (
                <nav class="pager" aria-label="Pages of the list">
                  {page > 1 && (
                    <To path="/decisions" query={queryOf(wanted, page - 1)} rel="prev">
                      Previous
                    </To>
                  )}
                  <span>
                    Page {whole(page)} of {whole(last)}
                  </span>
                  {page < last && (
                    <To path="/decisions" query={queryOf(wanted, page + 1)} rel="next">
                      Next
                    </To>
                  )}
                </nav>
              )}
            </>
          )
        }}
      </Show>
    </>
  )
}
