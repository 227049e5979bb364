/** The menu: five entries in a rail that folds, and the tabs of the shown entry. */
import { useState } from 'preact/hooks'
import { type Entry, entries } from './pages/registry.ts'
import { To } from './route.tsx'
import { texts } from './texts.ts'

const t = texts.frame
const folded = 'cstp:folded'

/** The signs of the entries in a folded rail, drawn with lines of 24 by 24. */
const signs: Record<string, string> = {
  '/': 'M4 5h16v15H4zM4 9h16M8 3v4M16 3v4',
  '/decisions': 'M5 6h14M5 12h14M5 18h9',
  '/agents': 'M12 4a4 4 0 1 1 0 8a4 4 0 0 1 0-8M4 20c1-5 15-5 16 0',
  '/policy': 'M12 3l8 3v6c0 5-4 8-8 9c-4-1-8-4-8-9V6z',
  '/proof': 'M4 12l5 5L20 6',
}

/** @param at the entry of the shown page; null if there is none */
export function Menu({ at }: { at: Entry | null }) {
  const [isFolded, setFolded] = useState(() => localStorage.getItem(folded) !== null)
  const turn = () => {
    if (isFolded) localStorage.removeItem(folded)
    else localStorage.setItem(folded, '1')
    setFolded(!isFolded)
  }
  return (
    <div class={isFolded ? 'side-rail folded' : 'side-rail'}>
      <nav aria-label={t.pages}>
        {entries.map(({ path, title }) => (
          <To
            key={path}
            path={path}
            title={isFolded ? title : undefined}
            aria-current={at?.path === path ? 'page' : undefined}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d={signs[path]} />
            </svg>
            <span>{title}</span>
          </To>
        ))}
      </nav>
      <button
        type="button"
        class="fold"
        aria-expanded={!isFolded}
        aria-label={isFolded ? t.unfold : t.fold}
        onClick={turn}
      >
        <span aria-hidden="true">{isFolded ? '»' : '«'}</span>
      </button>
    </div>
  )
}

/** The pages of an entry, if it has several. @param at path of the shown page */
export function Tabs({ of, at }: { of: Entry; at: string }) {
  if (of.tabs.length === 0) return null
  return (
    <nav class="tabs" aria-label={of.title}>
      {[{ path: of.path, title: of.tab }, ...of.tabs].map(({ path, title }) => (
        <To key={path} path={path} aria-current={at === path ? 'page' : undefined}>
          {title}
        </To>
      ))}
    </nav>
  )
}
