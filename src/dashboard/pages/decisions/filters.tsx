/** The form above the list: the question, how it is searched, and the filters. */
import { useRef } from 'preact/hooks'
import { Choice } from '../../ui.tsx'
import { type Mode, type Wanted, wantedIn } from './search.ts'

const modeNames: [Mode, string][] = [
  ['hybrid', 'Meaning and words'],
  ['semantic', 'Meaning'],
  ['keyword', 'Words'],
]
const any: [string, string] = ['', 'any']
const same = (...values: string[]): [string, string][] => [
  any,
  ...values.map((value): [string, string] => [value, value]),
]

export function Filters({ wanted, apply }: { wanted: Wanted; apply: (wanted: Wanted) => void }) {
  const form = useRef<HTMLFormElement>(null)
  const submit = () => {
    const data = new URLSearchParams(new FormData(form.current!) as unknown as Record<string, string>)
    apply({ ...wantedIn(data), sort: wanted.sort, order: wanted.order })
  }
  const text = (name: keyof Wanted, label: string) => (
    <label class="field">
      <span>{label}</span>
      <input name={name} value={wanted[name]} />
    </label>
  )
  const day = (name: 'from' | 'to', label: string) => (
    <label class="field">
      <span>{label}</span>
      <input type="date" name={name} value={wanted[name].slice(0, 10)} />
    </label>
  )
  const used = ['category', 'stakes', 'status', 'outcome', 'agent', 'project', 'tag', 'from', 'to'] as const
  return (
    <search>
      <form
        ref={form}
        class="filters"
        aria-label="Decisions"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div class="row">
          <label class="field grow">
            <span>Question or plan</span>
            <input type="search" name="q" value={wanted.q} placeholder="What are you about to decide?" />
          </label>
          <Choice label="Search by" name="mode" value={wanted.mode} options={modeNames} />
          <button type="submit" class="main">
            Search
          </button>
        </div>
        <details open={used.some((name) => wanted[name] !== '')}>
          <summary>Filters</summary>
          <div class="grid">
            {text('category', 'Category')}
            <Choice
              label="Stakes"
              name="stakes"
              value={wanted.stakes}
              options={same('low', 'medium', 'high', 'critical')}
            />
            <Choice label="Status" name="status" value={wanted.status} options={same('pending', 'reviewed')} />
            <Choice
              label="Outcome"
              name="outcome"
              value={wanted.outcome}
              options={same('success', 'partial', 'failure', 'abandoned')}
            />
            {text('agent', 'Agent')}
            {text('project', 'Project')}
            {text('tag', 'Tag')}
            {day('from', 'From')}
            {day('to', 'To')}
          </div>
          <button type="submit">Apply filters</button>
        </details>
      </form>
    </search>
  )
}
