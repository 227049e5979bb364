/** The form above the list: the question, how it is searched, and the filters. */

import type { GetStatsResult } from '../../../../sdk/client.ts'
import { type Field as FilterField, shownFilters } from '../../../../sdk/schema/decision-fields.ts'
import { Choice, Field, Form, type Options, type Read } from '../../form.tsx'
import { texts } from '../../texts.ts'
import { type Mode, spelled, type Wanted, wantedIn } from './search.ts'

const t = texts.filters

const modes: [Mode, string][] = [
  ['hybrid', t.both],
  ['semantic', t.meaning],
  ['keyword', t.words],
]
type Name = keyof typeof t.names

const choices = (options: Options): Options => [['', 'any'], ...options]

/** A list of options for a choice, or the type of an input. */
function kindOf({ type, values }: FilterField): Options | 'text' | 'date' | 'number' {
  if (values !== undefined) return choices(values)
  if (type === 'boolean') return choices(['yes', 'no'])
  if (type === 'time') return 'date'
  return type === 'integer' || type === 'real' ? 'number' : 'text'
}

const filters: [name: Name, kind: ReturnType<typeof kindOf>][] = [
  ...shownFilters.map(({ name, field }): [Name, ReturnType<typeof kindOf>] => [name, kindOf(field)]),
  ['scored', choices([['yes', t.scoredOnly]])],
]
const fields = ['q', 'mode', ...filters.map(([name]) => name)]

/** Known values of filters, if there are few. */
const suggested = (stats: GetStatsResult): Partial<Record<keyof Wanted, string[]>> => ({
  category: Object.keys(stats.by_category),
  agent: Object.keys(stats.by_agent),
  project: Object.keys(stats.by_project),
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
              ) : kind === 'number' ? (
                <Field key={name} label={t.names[name]} type="number" step="any" name={name} value={wanted[name]} />
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
