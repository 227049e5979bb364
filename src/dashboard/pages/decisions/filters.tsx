/** The form above the list: the question, how it is searched, and the filters. */

import type { GetStatsResult } from '../../../../sdk/client.ts'
import { Choice, Field, Form, type Options, type Read } from '../../form.tsx'
import { texts } from '../../texts.ts'
import { type Mode, spelled, type Wanted, wantedIn } from './search.ts'

const t = texts.filters

const modes: [Mode, string][] = [
  ['hybrid', t.both],
  ['semantic', t.meaning],
  ['keyword', t.words],
]
/** Filters by name; a list of options makes a choice, a type an input. */
const filters: [name: keyof typeof t.names, kind: Options | 'text' | 'date'][] = [
  ['category', 'text'],
  ['stakes', [['', 'any'], 'low', 'medium', 'high', 'critical']],
  ['status', [['', 'any'], 'pending', 'reviewed']],
  ['outcome', [['', 'any'], 'success', 'partial', 'failure', 'abandoned']],
  ['agent', 'text'],
  ['project', 'text'],
  ['tag', 'text'],
  [
    'scored',
    [
      ['', 'any'],
      ['yes', t.scoredOnly],
    ],
  ],
  ['from', 'date'],
  ['to', 'date'],
]
const fields = ['q', 'mode', ...filters.map(([name]) => name)]

/** Known values of filters, if there are few. */
const suggested = (stats: GetStatsResult): Partial<Record<keyof Wanted, string[]>> => ({
  category: Object.keys(stats.by_category),
  agent: Object.keys(stats.by_agent),
  tag: stats.top_tags.map(({ tag }) => tag),
})

/** Suggestions for the fields. */
export const Suggestions = ({ stats }: { stats: GetStatsResult | null }) => (
  <>
    {Object.entries(stats ? suggested(stats) : {}).map(([name, values]) => (
      <datalist key={name} id={`known-${name}`}>
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    ))}
  </>
)

export function Filters({
  wanted,
  names,
  apply,
}: {
  wanted: Wanted
  names: () => GetStatsResult | null
  apply: (wanted: Wanted) => void
}) {
  const submit = (read: Read) => {
    const stats = names()
    const listed = stats ? suggested(stats) : {}
    const given = new URLSearchParams(
      fields.map((name) => [name, spelled(read(name), listed[name as keyof Wanted] ?? [])]),
    )
    apply({ ...wantedIn(given), sort: wanted.sort, order: wanted.order })
  }
  return (
    <search>
      <Form class="filters" aria-label={t.decisions} submit={submit}>
        <div class="row">
          <Field grow label={t.question} type="search" name="q" value={wanted.q} placeholder={t.placeholder} />
          <Choice label={t.searchBy} name="mode" value={wanted.mode} options={modes} />
          <button type="submit" class="main">
            {t.search}
          </button>
        </div>
        <details open={filters.some(([name]) => wanted[name] !== '')}>
          <summary>{t.filters}</summary>
          <div class="grid">
            {filters.map(([name, kind]) =>
              typeof kind !== 'string' ? (
                <Choice key={name} label={t.names[name]} name={name} value={wanted[name]} options={kind} />
              ) : kind === 'date' ? (
                <Field key={name} label={t.names[name]} type="date" name={name} value={wanted[name].slice(0, 10)} />
              ) : (
                <Field key={name} label={t.names[name]} name={name} value={wanted[name]} list={`known-${name}`} />
              ),
            )}
          </div>
          <button type="submit">{t.apply}</button>
        </details>
      </Form>
    </search>
  )
}
