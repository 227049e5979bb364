/** The workspace that this tab shows: the one of its address, else its last one, else the one that this browser showed last. */

const kept = 'cstp:workspace'
let shown: string | null = null

/** Null until the session says. */
export const shownWorkspace = (): string | null => shown

/** Where what belongs to the shown workspace is kept, and not to others of the same person. */
export const keyHere = (key: string): string => (shown === null || shown === 'default' ? key : `${key}@${shown}`)

export function showWorkspace(name: string): void {
  shown = name
  for (const storage of [sessionStorage, localStorage]) storage.setItem(kept, name)
}

/** Reads which workspace to ask for. A link names it in the address, where it is taken out at once. */
export function findWorkspace(): void {
  const query = new URLSearchParams(location.search)
  const named = query.get('workspace')
  if (named !== null) {
    query.delete('workspace')
    const rest = query.size === 0 ? '' : `?${query}`
    history.replaceState(history.state, '', location.pathname + rest + location.hash)
    // A login at the issuer leaves the page.
    sessionStorage.setItem(kept, named)
  }
  shown = named ?? sessionStorage.getItem(kept) ?? localStorage.getItem(kept)
}
