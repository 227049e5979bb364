/** The frame around the pages: login, navigation, and the page of the address. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Bounded } from './bounded.tsx'
import { cut } from './figures.ts'
import { Freshness } from './fresh.tsx'
import { Login } from './login.tsx'
import { Menu, Tabs } from './menu.tsx'
import { type Page, pageAt } from './pages/registry.ts'
import { openPalette, Palette } from './palette.tsx'
import { type Place, Titled, To, usePlace, ViewContext, viewOf } from './route.tsx'
import { firstSession, logOut, moveTo, onEnd, type Session } from './service.ts'
import { texts } from './texts.ts'
import { sendNow, Undo } from './undo.tsx'

interface State {
  /** The session of the shown pages. After it has ended, they stay beneath the login with everything typed. */
  session: Session | null
  /** Message shown with the login; null if there is none. */
  note: string | null
  login: boolean
  begun: boolean
}

const t = texts.frame

/** Nobody is logged in. */
const out = (note: string | null): State => ({ session: null, note, login: true, begun: false })

export function App() {
  const [state, setState] = useState<State | 'unknown'>('unknown')
  useEffect(() => {
    firstSession().then(
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
    void sendNow()
      .then(logOut)
      .then(
        () => setState(out(t.loggedOut)),
        () => setState(out(t.maybeLoggedIn)),
      )
  return (
    <>
      {login && (
        <Login note={note} done={(found) => setState({ session: found, note: null, login: false, begun: true })} />
      )}
      {session && (
        <div key={`${session.agent} ${session.workspace}`} class="frame" hidden={login}>
          <Frame session={session} leave={leave} begun={begun} />
        </div>
      )}
    </>
  )
}

/** Which workspace is shown, if there are several, and the choice of another one for a person of several. */
function Workspace({ of: { workspace, workspaces = [] } }: { of: Session }) {
  const [failed, setFailed] = useState<string | null>(null)
  if (workspaces.length < 2) return workspace === 'default' ? null : <span title={t.workspace}>{workspace}</span>
  const go = (name: string) =>
    void sendNow()
      .then(() => moveTo(name))
      .catch(() => setFailed(t.unreachable))
  return (
    <select
      aria-label={t.workspace}
      title={failed ?? undefined}
      value={workspace}
      onChange={(event) => go(event.currentTarget.value)}
    >
      {workspaces.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}

/** Headings of more characters are set like body text. */
const longHeading = 90

/** The item of a page of a single item; else empty. */
const itemOf = (page: Page | null, { path }: Place): string =>
  page !== null && path.startsWith(page.path) ? decodeURIComponent(path.slice(page.path.length)) : ''

function Frame({ session, leave, begun }: { session: Session; leave: () => void; begun: boolean }) {
  const place = usePlace()
  const found = pageAt(place.path)
  const page = found?.page ?? null
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(!begun)
  const [named, setNamed] = useState({ path: '', name: '' })
  const ownName = named.path === place.path ? named.name : null
  const name = ownName ?? page?.title ?? t.notFound
  const id = itemOf(page, place)
  // Until the page sets a title, the tab shows the id of a single item.
  const tab = ownName === null ? `${name} ${id}`.trim() : cut(ownName)
  const view = viewOf(place, session, id)
  useEffect(() => {
    document.title = `${tab} · cstp`
  }, [tab])
  useEffect(() => {
    // After a link or a login the focus is at the heading; after a reload at the top of the page.
    if (!first.current) heading.current?.focus({ preventScroll: true })
    first.current = false
  }, [place.path])
  return (
    <ViewContext.Provider value={view}>
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <header class="top">
        <To path="/" class="brand">
          cstp
        </To>
        <button type="button" class="search" onClick={openPalette}>
          {t.search} <kbd>/</kbd>
        </button>
        <div class="who">
          <Workspace of={session} />
          <span title={t.scopes(session.scopes.join(', '))}>{session.agent}</span>
          <button type="button" onClick={leave}>
            {t.logOut}
          </button>
        </div>
      </header>
      <Palette />
      <Undo />
      <Menu at={found?.entry ?? null} />
      <main id="main" tabIndex={-1}>
        {found && <Tabs of={found.entry} at={place.path} />}
        <div class="heading">
          <Bounded text={name}>
            <h1 ref={heading} tabIndex={-1} dir="auto" class={name.length > longHeading ? 'long' : ''}>
              {name}
            </h1>
          </Bounded>
          {page && page.every_s !== 0 && <Freshness every_s={page.every_s ?? 15} />}
        </div>
        <Titled.Provider value={(given) => setNamed({ path: place.path, name: given })}>
          {page ? (
            <page.View key={page.path} />
          ) : (
            <p>
              {t.noPage} <To path="/">{t.toOverview}</To>.
            </p>
          )}
        </Titled.Provider>
      </main>
    </ViewContext.Provider>
  )
}
