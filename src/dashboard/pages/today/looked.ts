/** When this reader looked at Today before, kept in this browser. */
import { keyHere } from '../../workspace.ts'

const key = 'cstp:looked'
/** A look that continues an earlier one, such as after a reload, is none of its own. */
const visitMs = 30 * 60_000

/** The end of the visit before this one, RFC 3339; null on the first visit. Notes that the page is looked at now. */
export function lookedBefore(now_ms = Date.now()): string | null {
  const [last, before] = (localStorage.getItem(keyHere(key)) ?? '').split(' ').map(Number)
  const isNew = !last || now_ms - last > visitMs
  const previous = isNew ? last || null : before || null
  localStorage.setItem(keyHere(key), `${now_ms} ${previous ?? 0}`)
  return previous === null ? null : new Date(previous).toISOString()
}
