/** From page to page of a list, and to any page of a long one. */
import { whole } from '../../figures.ts'
import { addressOf, go, type Query, To } from '../../route.tsx'

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
