/** Decisions: search and filters, all of them in the address, so that a link shows the same list again. */
import { useMemo, useRef } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { Form } from '../../form.tsx'
import { addressOf, go, goWith, type Query, To, useArrival, type View } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Empty } from '../../ui.tsx'
import { Chips, Facets } from './facets.tsx'
import { Filters, Suggestions } from './filters.tsx'
import { Hits } from './hits.tsx'
import { countsOf, known, pageSize, queryOf, search, type Wanted, wantedIn } from './search.ts'
import { Listed } from './table.tsx'

const t = texts.decisions

/** The last hit that a search reaches: the limit of `offset` in cstp.queryDecisions. */
const furthestHit = 10_000

const lastPage = ({ q }: Wanted, total: number): number =>
  Math.max(1, Math.ceil((q.trim() === '' ? total : Math.min(total, furthestHit)) / pageSize))

/** The address tells whether the list is filtered. */
const Nothing = ({ total, place: { query } }: { total: number } & Pick<View, 'place'>) =>
  total > 0 ? (
    <Empty>{t.beyond}</Empty>
  ) : query.size === 0 ? (
    <Empty>{t.none}</Empty>
  ) : (
    <Empty>
      {t.noMatch((text) => (
        <To path="/decisions">{text}</To>
      ))}
    </Empty>
  )

export function Decisions({ place, session }: View) {
  const wanted = wantedIn(place.query)
  const page = Math.max(1, Number.parseInt(place.query.get('page') ?? '1', 10) || 1)
  const asked = wanted.q.trim() !== ''
  const loaded = useCall(place.query.toString(), (signal) => search(wanted, page, signal))
  const counts = useCall(`counts ${addressOf('', queryOf(wanted, 1))}`, (signal) => countsOf(wanted, signal))
  const all = useCall('known', known)
  const names = useRef(all.data)
  names.current = all.data
  // Rebuilt only when the address changes, so that an arriving answer does not discard typed text.
  const filters = useMemo(
    () => (
      <Filters
        wanted={wanted}
        names={() => names.current}
        apply={(next) => go(addressOf('/decisions', queryOf(next, 1)))}
      />
    ),
    [place.query.toString()],
  )
  const status = useArrival<HTMLParagraphElement>(page)
  return (
    <>
      {session.scopes.includes('write') && (
        <p>
          <To path="/record" class="button">
            {texts.write.record.title}
          </To>
        </p>
      )}
      {filters}
      <Suggestions stats={all.data} />
      <Chips wanted={wanted} />
      <div class="found">
        <Show of={loaded}>
          {(found) => {
            const { rows, total, offset } = found
            const last = lastPage(wanted, total)
            return (
              <>
                <p role="status" tabIndex={-1} ref={status}>
                  {texts.amount.decision(total)}
                  {rows.length > 0 &&
                    total > rows.length &&
                    `, ${whole(offset + 1)} to ${whole(offset + rows.length)} shown`}
                  {found.ms !== null && t.took(found.ms)}
                </p>
                {rows.length === 0 && <Nothing total={total} place={place} />}
                {found.no_precedent && <p class="notice">{t.noPrecedent}</p>}
                {found.degraded && (
                  <p class="notice warn">
                    {found.partial ? t.incomplete(found.partial.indexed, found.partial.total) : t.keywordOnly}
                  </p>
                )}
                {rows.length > 0 && asked && <Hits found={found} wanted={wanted} />}
                {rows.length > 0 && !asked && (
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
        {counts.data && counts.data.total > 0 && <Facets wanted={wanted} stats={counts.data} />}
      </div>
    </>
  )
}

/** Links to the neighbouring pages of a list, and a form for any page. */
function Pager({ page, last, query }: { page: number; last: number; query: (page: number) => Query }) {
  if (last <= 1 && page === 1) return null
  const to = (number: number, name: string, rel?: string) => (
    <To path="/decisions" query={query(number)} {...(rel && { rel })}>
      {name}
    </To>
  )
  return (
    <nav class="pager" aria-label={t.pages}>
      <span>{page > 1 && to(1, t.first)}</span>
      <span>{page > 1 && to(Math.min(page - 1, last), t.previous, 'prev')}</span>
      <Form
        key={page}
        submit={(read) =>
          go(addressOf('/decisions', query(Math.min(last, Math.max(1, Math.trunc(Number(read('page'))))))))
        }
      >
        <label>
          {t.page} <input name="page" type="number" min="1" max={last} required defaultValue={String(page)} />
        </label>{' '}
        {t.of(whole(last))}
        <button type="submit">{t.go}</button>
      </Form>
      <span>{page < last && to(page + 1, t.next, 'next')}</span>
      <span>{page < last && to(last, t.last)}</span>
    </nav>
  )
}
