/** The frame around the pages: login, navigation, and the page of the address. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Login } from './login.tsx'
import { type Page, pageAt, pages } from './pages/registry.ts'
import { type Place, To, usePlace } from './route.tsx'
import { currentSession, logOut, onEnd, type Session } from './service.ts'

type State = { session: Session | null; note: string | null; begun: boolean } | 'unknown'

export function App() {
  const [state, setState] = useState<State>('unknown')
  useEffect(() => {
    currentSession().then(
      (session) => setState({ session, note: null, begun: false }),
      () => setState({ session: null, note: 'The service cannot be reached. Is it running?', begun: false }),
    )
    return onEnd(() =>
      setState({ session: null, note: 'Your session has ended. Log in again to continue.', begun: false }),
    )
  }, [])
  if (state === 'unknown') return null
  const { session, note, begun } = state
  if (!session) return <Login note={note} done={(found) => setState({ session: found, note: null, begun: true })} />
  const leave = () =>
    void logOut().then(
      () => setState({ session: null, note: 'You are logged out.', begun: false }),
      () =>
        setState({ session: null, note: 'The service cannot be reached. You may still be logged in.', begun: false }),
    )
  return <Frame session={session} leave={leave} begun={begun} />
}

/** The title of the tab; of a decision it holds the id. */
const titleOf = (page: Page | null, { path }: Place): string =>
  page === null ? 'Not found' : page.inMenu ? page.title : `${page.title} ${path.slice(path.lastIndexOf('/') + 1)}`

function Frame({ session, leave, begun }: { session: Session; leave: () => void; begun: boolean }) {
  const place = usePlace()
  const page = pageAt(place.path)
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(!begun)
  useEffect(() => {
    document.title = `${titleOf(page, place)} · cstp`
    // After a link or a login the focus is at the heading; after a reload at the top of the page.
    if (!first.current) heading.current?.focus({ preventScroll: true })
    first.current = false
  }, [place.path])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <To path="/" class="brand">
          cstp
        </To>
        <nav aria-label="Pages">
          {pages
            .filter(({ inMenu }) => inMenu)
            .map(({ path, title: name }) => (
              <To key={path} path={path} aria-current={isAt(place, path) ? 'page' : undefined}>
                {name}
              </To>
            ))}
        </nav>
        <div class="who">
          <span title={`Scopes: ${session.scopes.join(', ')}`}>{session.agent}</span>
          <button type="button" onClick={leave}>
            Log out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 ref={heading} tabIndex={-1}>
          {page?.title ?? 'Not found'}
        </h1>
        <Body page={page} place={place} session={session} />
      </main>
    </>
  )
}

const isAt = ({ path }: Place, start: string): boolean =>
  start === '/' ? path === '/' : path === start || path.startsWith(`${start}/`)

function Body({ page, place, session }: { page: Page | null; place: Place; session: Session }): ComponentChildren {
  if (page) return <page.View key={page.path} place={place} session={session} />
  return (
    <p>
      There is no page at this address. <To path="/">Go to the overview</To>.
    </p>
  )
}
