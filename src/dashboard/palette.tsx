/** The command palette, opened by `/` or Ctrl-K: pages, saved views and decisions that match the typed text. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useCall } from './call.tsx'
import { Combobox } from './combobox.tsx'
import { useLike } from './like.ts'
import { pages } from './pages/registry.ts'
import { addressOf, go, useView, type View } from './route.tsx'
import { service } from './service.ts'
import { texts } from './texts.ts'

const t = texts.palette

interface Entry {
  name: string
  kind: string
  run(): void
}

interface SavedView {
  name: string
  address: string
}

const key = 'cstp:views'
const mostViews = 30

/** The views saved in this browser. */
function savedViews(): SavedView[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter((one) => String(one?.address).startsWith('/dashboard')) : []
  } catch {
    return []
  }
}

const keep = (views: SavedView[]): void => localStorage.setItem(key, JSON.stringify(views.slice(0, mostViews)))

const here = (): string => location.pathname + location.search

/** The available commands, including those for the shown decision. */
function commandsHere({ may }: View): Entry[] {
  if (!may('write')) return []
  const { commands, record } = texts.write
  const to = (name: string, address: string): Entry => ({ name, kind: commands.kind, run: () => go(address) })
  const anywhere = [to(record.title, addressOf('/record'))]
  const [, id] = /^\/dashboard\/decisions\/([^/]+)$/.exec(location.pathname) ?? []
  if (id === undefined) return anywhere
  return [
    to(commands.edit, addressOf(`/edit/${id}`)),
    to(commands.supersede, addressOf('/record', { supersedes: decodeURIComponent(id) })),
    to(commands.link, addressOf(`/decisions/${id}`, { do: 'link' })),
    ...anywhere,
  ]
}

/** Entries that need no call of the service. */
function entriesFor(typed: string, view: View): Entry[] {
  const to = (address: string) => () => go(address)
  const views = savedViews()
  const isSaved = views.some(({ address }) => address === here())
  const holds = ({ name }: Entry) => name.toLocaleLowerCase().includes(typed.toLocaleLowerCase())
  const fixed = [
    ...views.map(({ name, address }) => ({ name, kind: t.view, run: to(address) })),
    ...pages.map(({ title, path }) => ({ name: title, kind: t.page, run: to(addressOf(path)) })),
  ].filter(holds)
  const name = typed.trim() || document.title.replace(/ · cstp$/, '')
  const own: Entry = isSaved
    ? { name: t.forget, kind: t.view, run: () => keep(views.filter(({ address }) => address !== here())) }
    : { name: t.save(name), kind: t.view, run: () => keep([{ name, address: here() }, ...views]) }
  const search: Entry = { name: t.search(typed), kind: t.decisions, run: to(addressOf('/decisions', { q: typed })) }
  return [...commandsHere(view).filter(holds), ...(typed.trim() === '' ? [] : [search]), ...fixed, own]
}

const mostFound = 5
const decisionId = /^(?:\d{4}-\d{2}-\d{2}-decision-)?[0-9a-f]{8,12}$/
/** The service reads a code in any case, with its dash or without; a word without a digit is none. */
const approvalCode = /^(?=.*\d)[a-z0-9]{4}-?[a-z0-9]{4}$/i

/** The pages of the decision, the approval or the agents that the typed text names. */
function named(typed: string, agents: readonly string[]): Entry[] {
  const text = typed.trim()
  const to = (name: string, kind: string, address: string): Entry => ({ name, kind, run: () => go(address) })
  const own = agents.filter((name) => text !== '' && name.toLocaleLowerCase().includes(text.toLocaleLowerCase()))
  return [
    ...(decisionId.test(text) ? [to(t.openDecision(text), t.decision, addressOf(`/decisions/${text}`))] : []),
    ...(approvalCode.test(text)
      ? [to(t.openApproval(text), t.approval, addressOf(`/approvals/${text.toUpperCase()}`))]
      : []),
    ...own.slice(0, mostFound).map((name) => to(name, t.agent, addressOf('/calibration', { agent: name }))),
  ]
}

/** The decisions nearest to the typed text. The search entry reports errors. */
const useFound = (typed: string): Entry[] =>
  (useLike(typed, mostFound)?.decisions ?? []).map(({ id, title }) => ({
    name: title,
    kind: t.decision,
    run: () => go(addressOf(`/decisions/${encodeURIComponent(id)}`)),
  }))

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

const opened = 'cstp:palette'
/** Opens the palette, as its key does. */
export const openPalette = (): void => void dispatchEvent(new Event(opened))

export function Palette() {
  const view = useView()
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const found = useFound(typed)
  const agents = Object.keys(useCall('agents', (signal) => service.getStats({}, { signal })).data?.by_agent ?? {})
  useEffect(() => {
    const show = () => {
      setTyped('')
      dialog.current?.showModal()
    }
    const press = (event: KeyboardEvent) => {
      const slash = event.key === '/' && !isField(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey
      const k = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
      if ((!slash && !k) || dialog.current?.open) return
      event.preventDefault()
      show()
    }
    addEventListener('keydown', press)
    addEventListener(opened, show)
    return () => {
      removeEventListener('keydown', press)
      removeEventListener(opened, show)
    }
  }, [])
  const run = (entry: Entry) => {
    dialog.current?.close()
    entry.run()
  }
  return (
    <dialog ref={dialog} class="palette" aria-label={t.title}>
      <Combobox
        id="palette"
        label={t.title}
        aria-label={t.title}
        placeholder={t.placeholder}
        value={typed}
        type={setTyped}
        entries={[...named(typed, agents), ...entriesFor(typed, view), ...found]}
        pick={run}
      >
        {({ name, kind }) => (
          <>
            {name} <span class="quiet">{kind}</span>
          </>
        )}
      </Combobox>
    </dialog>
  )
}
