/** The address bar, which alone determines what is shown: paths, queries and links. */
import { type ComponentChildren, createContext, type RefObject } from 'preact'
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { cut } from './figures.ts'
import type { Session } from './service.ts'

const base = '/dashboard'

export interface Place {
  /** Below `/dashboard`, such as `/decisions`. */
  path: string
  query: URLSearchParams
}

/** What a page shows, and who reads it. */
export interface View {
  place: Place
  session: Session
  /** Name of the shown item, for pages of a single item; else empty. */
  id: string
  /** Whether the session has a scope. */
  may(scope: string): boolean
  /** Whether it reads what only administrators and auditors may read. */
  seesAll: boolean
  /** Whether it may review, link and edit: with `write`, or what others recorded with `curate`. */
  edits: boolean
  /** Whether it may try a draft of rules, which auditors may too, and whether it may put one in shadow mode. */
  drafts: 'try' | 'shadow' | null
  /** The part of the audit trail that it may read, as a filter: all of it, what was stopped, or its own calls. */
  trail: { agent?: string; allowed?: false }
}

export function viewOf(place: Place, session: Session, id: string): View {
  const may = (scope: string) => session.scopes.includes(scope)
  const seesAll = may('admin') || may('audit')
  const trail = seesAll ? {} : may('approve') ? ({ allowed: false } as const) : { agent: session.agent }
  const drafts = may('admin') || may('curate') ? 'shadow' : seesAll ? 'try' : null
  return { place, session, id, may, seesAll, edits: may('write') || may('curate'), drafts, trail }
}

export const ViewContext = createContext<View | null>(null)
export const useView = (): View => useContext(ViewContext)!

/** Addresses of pages that have moved: links and saved views to them still lead there. */
const renamed: Record<string, string> = {
  '/trust': '/agents',
  '/guardrails': '/policy',
  '/evidence': '/proof',
}

const here = (): Place => ({
  path: location.pathname.slice(base.length).replace(/(?<!\/)\/+$/, '') || '/',
  query: new URLSearchParams(location.search),
})

const moved = 'cstp:moved'

/** Longest wait for a revisited page to load before it is scrolled to where it was left. */
const restoreMs = 3_000

/** Scrolls as soon as the page is long enough, unless the reader scrolls first. */
function scrollBack(to: number): void {
  const end = performance.now() + restoreMs
  const stop = new AbortController()
  for (const name of ['wheel', 'touchstart', 'keydown'])
    addEventListener(name, () => stop.abort(), { signal: stop.signal })
  const look = () => {
    if (stop.signal.aborted) return
    if (document.documentElement.scrollHeight >= to + innerHeight || performance.now() > end) {
      scrollTo(0, to)
      stop.abort()
    } else requestAnimationFrame(look)
  }
  look()
}

/** Sets the heading of the page from its content. */
export const Titled = createContext<(title: string) => void>(() => {})

/** Sets the title of a single-item page once it is known. */
export function useTitle(title: string | undefined): void {
  const tell = useContext(Titled)
  useLayoutEffect(() => {
    if (title !== undefined) tell(title)
  }, [title])
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => {
    const { path } = here()
    if (renamed[path]) history.replaceState(history.state, '', base + renamed[path] + location.search + location.hash)
    return here()
  })
  useEffect(() => {
    // Content loads later than the browser would scroll.
    history.scrollRestoration = 'manual'
    const look = (event: Event) => {
      setPlace(here())
      if (event instanceof PopStateEvent) setTimeout(() => scrollBack(Number(event.state?.scroll ?? 0)))
    }
    addEventListener('popstate', look)
    addEventListener(moved, look)
    return () => {
      removeEventListener('popstate', look)
      removeEventListener(moved, look)
    }
  }, [])
  return place
}

/** Takes the focus when the content under it is replaced, so that the focus is where the new content begins. */
export function useArrival<T extends HTMLElement>(key: string | number): RefObject<T | null> {
  const target = useRef<T>(null)
  const before = useRef(key)
  useLayoutEffect(() => {
    if (before.current !== key) target.current?.focus()
    before.current = key
  }, [key])
  return target
}

export type Query = Record<string, string | number | null | undefined>

/** The address of a page; empty members of the query are left out. */
export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${base}${path === '/' ? '' : path}${text && `?${text}`}`
}

/** The last query of each page before it was left. */
const left = new Map<string, Query>()

/** @param stays whether the address changes without a step for the back button */
export function go(address: string, stays = false): void {
  const { path, query } = here()
  left.set(path, Object.fromEntries(query))
  history.replaceState({ scroll: scrollY }, '', stays ? address : undefined)
  if (!stays) history.pushState(null, '', address)
  dispatchEvent(new Event(moved))
}

/** Changes members of the query and keeps the others. */
export const goWith = ({ path, query }: Place, changes: Query, stays = false): void =>
  go(addressOf(path, { ...Object.fromEntries(query), ...changes }), stays)

interface Link {
  path: string
  query?: Query
  children: ComponentChildren
  class?: string
  rel?: string
  title?: string
  dir?: 'auto'
  'aria-current'?: 'page' | undefined
  'aria-label'?: string
}

/** A link is a name: the rest of a long text is on the page that it leads to. */
const longest = 200

/** A link to another page. */
export function To({ path, query, children, ...rest }: Link) {
  const address = addressOf(path, query)
  const follow = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    const elsewhere = path !== here().path
    go(address)
    if (elsewhere) scrollTo(0, 0)
  }
  return (
    <a href={address} onClick={follow} {...rest}>
      {typeof children === 'string' ? cut(children, longest) : children}
    </a>
  )
}

/** A link back to a list, with its last filters and page. */
export const ToList = ({ path, children }: { path: string; children: string }) => (
  <To path={path} query={left.get(path) ?? {}}>
    {children}
  </To>
)

/** A link to a decision. Where its title is cut, its end is cut, on whichever side that is. */
export const ToDecision = ({ id, children }: { id: string; children: ComponentChildren }) => (
  <To
    path={`/decisions/${encodeURIComponent(id)}`}
    dir="auto"
    {...(typeof children === 'string' && { title: children })}
  >
    {children}
  </To>
)
