/** Filters to click: those that are set, and how many decisions each further choice would leave. */
import type { GetStatsResult } from '../../../../sdk/client.ts'
import { cut, local, whole } from '../../figures.ts'
import { To } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { List } from '../../ui.tsx'
import { queryOf, type Wanted } from './search.ts'

const t = texts.search

const isTime = /^\d{4}-\d\d-\d\dT/
/** Maximum choices shown of one kind. */
const most = 6

type Counted = [value: string, count: number][]

/** The counts for each filter that is a choice. */
const kinds: [name: Name, counts: (stats: GetStatsResult) => Counted][] = [
  ['category', (stats) => Object.entries(stats.by_category)],
  ['stakes', (stats) => Object.entries(stats.by_stakes)],
  [
    'outcome',
    ({ by_outcome, by_status: { pending = 0 } }) => Object.entries({ ...by_outcome, ...(pending && { pending }) }),
  ],
  ['agent', (stats) => Object.entries(stats.by_agent)],
  ['tag', (stats) => stats.top_tags.map(({ tag, count }) => [tag, count])],
]

type Name = keyof typeof t.names

/** What is not reviewed yet has no outcome, but a status. */
const narrowed = (name: Name, value: string): Partial<Wanted> =>
  name === 'outcome' && value === 'pending' ? { status: value } : { [name]: value }
const names = Object.keys(t.names) as Name[]

/** The filters that are set; a click removes one. */
export function Chips({ wanted }: { wanted: Wanted }) {
  const set = names.filter((name) => wanted[name] !== '')
  if (set.length === 0) return null
  return (
    <p class="chips">
      {set.map((name) => (
        <To
          key={name}
          path="/decisions"
          query={queryOf({ ...wanted, [name]: '' }, 1)}
          class="chip"
          aria-label={t.without(t.names[name], wanted[name])}
        >
          {t.names[name]}: {cut(isTime.test(wanted[name]) ? local(wanted[name]) : wanted[name])}{' '}
          <span aria-hidden="true">×</span>
        </To>
      ))}
      {set.length > 1 && (
        <To path="/decisions" query={{ q: wanted.q }}>
          {t.clear}
        </To>
      )}
    </p>
  )
}

export function Facets({ wanted, stats }: { wanted: Wanted; stats: GetStatsResult }) {
  const open = kinds
    .filter(([name]) => wanted[name] === '')
    .map(([name, counts]) => [name, counts(stats).sort((a, b) => b[1] - a[1])] as const)
    .filter(([, counts]) => counts.length > 1)
  if (open.length === 0) return null
  return (
    <nav class="facets" aria-label={t.narrow}>
      {open.map(([name, counts]) => (
        <section key={name}>
          <h2>{t.names[name]}</h2>
          <List of={counts.slice(0, most)}>
            {([value, count]) => (
              <>
                <To path="/decisions" query={queryOf({ ...wanted, ...narrowed(name, value) }, 1)} title={value}>
                  {value}
                </To>{' '}
                <span class="quiet">{whole(count)}</span>
              </>
            )}
          </List>
          {counts.length > most && <p class="quiet">{t.more(counts.length - most)}</p>}
        </section>
      ))}
    </nav>
  )
}
