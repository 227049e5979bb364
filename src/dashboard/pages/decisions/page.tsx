/** Decisions: search and filters, all of them in the address, so that a link shows the same list again. */
import { useMemo, useRef } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { Pager, pageIn } from '../../form.tsx'
import { addressOf, go, goWith, To, useArrival, useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Empty, List, Panel } from '../../ui.tsx'
import { Chips, Facets } from './facets.tsx'
import { Filters, Suggestions } from './filters.tsx'
import { Hits } from './hits.tsx'
import { countsOf, type Found, known, pageSize, queryOf, search, type Wanted, wantedIn } from './search.ts'
import { Listed } from './table.tsx'

const t = texts.decisions

/** The last hit that a search reaches: the limit of `offset` in cstp.queryDecisions. */
const furthestHit = 10_000

/** The list of a question ends with the page of its last precedent; a later page that an address names is the last one. */
function lastPage({ q }: Wanted, page: number, { total, offset, rows, answer }: Found): number {
  const precedents = answer?.precedents ?? null
  const ends = precedents !== null && precedents < offset + rows.length
  const count = q.trim() === '' ? total : Math.min(ends ? precedents : total, furthestHit)
  return Math.max(rows.length > 0 ? page : 1, Math.ceil(count / pageSize))
}

/** The address tells whether the list is filtered. */
const nothing = (total: number, isFiltered: boolean) =>
  total > 0 ? t.beyond : isFiltered ? t.noMatch((text) => <To path="/decisions">{text}</To>) : t.none

export function Decisions() {
  const { place, may } = useView()
  const wanted = wantedIn(place.query)
  const page = pageIn(place)
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
      {may('write') && (
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
            const { rows, total, offset, answer } = found
            const last = lastPage(wanted, page, found)
            return (
              <>
                <p role="status" tabIndex={-1} ref={status}>
                  {answer?.precedents == null
                    ? texts.amount.decision(total)
                    : t.precedents(
                        answer.precedents,
                        answer.precedents === offset + rows.length && last > page,
                        texts.amount.decision(total),
                      )}
                  {rows.length > 0 &&
                    total > rows.length &&
                    `, ${whole(offset + 1)} to ${whole(offset + rows.length)} shown`}
                  {answer && t.took(answer.ms)}
                </p>
                {rows.length === 0 && <Empty>{nothing(total, place.query.size > 0)}</Empty>}
                {answer && answer.precedent !== 'found' && <p class="notice">{t.precedent[answer.precedent]}</p>}
                {answer?.degraded && (
                  <p class="notice warn">
                    {answer.partial ? t.incomplete(answer.partial.indexed, answer.partial.total) : t.keywordOnly}
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
                {answer && answer.published.length > 0 && (
                  <Panel title={t.published} lead={t.publishedLead}>
                    <List of={answer.published}>
                      {({ workspace, title, outcome, stakes, category, lessons }) => (
                        <>
                          {title} <Badge of={outcome ?? 'pending'} /> <Badge of={stakes} />
                          <div class="quiet facts">
                            <span>{t.from(workspace)}</span>
                            <span>{category}</span>
                            {lessons && <span>{lessons}</span>}
                          </div>
                        </>
                      )}
                    </List>
                  </Panel>
                )}
                <Pager name={t.pages} page={page} last={last} />
              </>
            )
          }}
        </Show>
        {counts.data && counts.data.total > 0 && <Facets wanted={wanted} stats={counts.data} />}
      </div>
    </>
  )
}
