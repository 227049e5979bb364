/** The frame around the pages: login, navigation, and the page of the address. */
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useCall } from './call.tsx'
import { whole } from './figures.ts'
import { Freshness } from './fresh.tsx'
import { Login } from './login.tsx'
import { waiting } from './pages/inbox/page.tsx'
import { type Page, pageAt, pages } from './pages/registry.ts'
import { Palette } from './palette.tsx'
import { type Place, Titled, To, usePlace } from './route.tsx'
import { currentSession, logOut, onEnd, type Session } from './service.ts'
import { texts } from './texts.ts'

interface State {
  /** The session of the shown pages. After it has ended, they stay beneath the login with everything typed. */
  session: Session | null
  /** Message shown with the login; null if there is none. */
  note: string | null
  login: boolean
  begun: boolean
}

const t = texts.frame

export function App() {
  const [state, setState] = useState<State | 'unknown'>('unknown')
  useEffect(() => {
    const out = (note: string | null): State => ({ session: null, note, login: true, begun: false })
    currentSession().then(
      (session) => setState(session ? { session, note: null, login: false, begun: false } : out(null)),
      () => setState(out(t.unreachable)),
    )
    return onEnd(() =>
      setState((before) => {
        if (before === 'unknown') return out(t.ended)
        // A call that was under way at the logout is refused after it: the reader knows already.
        return before.login ? before : { ...before, note: t.ended, login: true }
      }),
    )
  }, [])
  if (state === 'unknown') return null
  const { session, note, login, begun } = state
  const leave = () =>
    void logOut().then(
      () => setState({ session: null, note: t.loggedOut, login: true, begun: false }),
      () => setState({ session: null, note: t.maybeLoggedIn, login: true, begun: false }),
    )
  return (
    <>
      {login && (
        <Login note={note} done={(found) => setState({ session: found, note: null, login: false, begun: true })} />
      )}
      {session && (
        <div key={session.agent} hidden={login}>
          <Frame session={session} leave={leave} begun={begun} />
        </div>
      )}
    </>
  )
}

/** Maximum characters of a name in the tab's title. */
const longest = 60
/** Headings of more characters are set like body text. */
const longHeading = 90
const cut = (name: string): string => (name.length > longest ? `${name.slice(0, longest - 1).trimEnd()}…` : name)

/** The tab's title until the page sets one; a page of a single item shows its id. */
const titleOf = (page: Page | null, { path }: Place): string =>
  page === null
    ? t.notFound
    : !page.path.endsWith('/') || page.path === '/'
      ? page.title
      : `${page.title} ${decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))}`

function Frame({ session, leave, begun }: { session: Session; leave: () => void; begun: boolean }) {
  const place = usePlace()
  const page = pageAt(place.path)
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(!begun)
  const [named, setNamed] = useState({ path: '', name: '' })
  const ownName = named.path === place.path ? named.name : null
  const name = ownName ?? page?.title ?? t.notFound
  const tab = ownName === null ? titleOf(page, place) : cut(ownName)
  useEffect(() => {
    document.title = `${tab} · cstp`
  }, [tab])
  useEffect(() => {
    // After a link or a login the focus is at the heading; after a reload at the top of the page.
    if (!first.current) heading.current?.focus({ preventScroll: true })
    first.current = false
  }, [place.path])
  return (
    <>
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <header class="top">
        <To path="/" class="brand">
          cstp
        </To>
        <nav aria-label={t.pages}>
          {pages
            .filter(({ inMenu }) => inMenu)
            .map(({ path, title: name }) => (
              <Fragment key={path}>
                <To path={path} aria-current={isAt(place, path) ? 'page' : undefined}>
                  {name}
                </To>
                {path === '/inbox' && <Counter />}
              </Fragment>
            ))}
        </nav>
        <div class="who">
          <span title={t.scopes(session.scopes.join(', '))}>{session.agent}</span>
          <button type="button" onClick={leave}>
            {t.logOut}
          </button>
        </div>
      </header>
      <Palette session={session} />
      <main id="main" tabIndex={-1}>
        <div class="heading">
          <h1 ref={heading} tabIndex={-1} class={name.length > longHeading ? 'long' : ''}>
            {name}
          </h1>
          {page && page.every_s !== 0 && <Freshness every_s={page.every_s ?? 15} />}
        </div>
        <Titled.Provider value={(given) => setNamed({ path: place.path, name: given })}>
          <Body page={page} place={place} session={session} />
        </Titled.Provider>
      </main>
    </>
  )
}

/** Number of items in the inbox. */
function Counter() {
  const { data } = useCall('waiting', waiting)
  if (!data) return null
  return (
    <span class="count">
      <span aria-hidden="true">{whole(data)}</span>
      <span class="unseen">{texts.inbox.waiting(data)}</span>
    </span>
  )
}

const isAt = ({ path }: Place, start: string): boolean =>
  start === '/' ? path === '/' : path === start || path.startsWith(`${start}/`)

function Body({ page, place, session }: { page: Page | null; place: Place; session: Session }): ComponentChildren {
  if (page) return <page.View key={page.path} place={place} session={session} />
  return (
    <p>
      {t.noPage} <To path="/">{t.toOverview}</To>.
    </p>
  )
}
