/** Items that this reader does not want to see for a week, kept in this browser. */
import { keyHere } from '../../workspace.ts'

const key = 'cstp:snoozed'
const weekMs = 7 * 86_400_000

/** When each item comes back, in milliseconds since 1970; items that are back are left out. */
export function snoozed(): Record<string, number> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyHere(key)) ?? '{}')
    const entries = Object.entries(kept !== null && typeof kept === 'object' ? kept : {})
    return Object.fromEntries(entries.filter(([, until]) => typeof until === 'number' && until > Date.now()))
  } catch {
    // Something else was stored under this name.
    return {}
  }
}

export const snooze = (items: readonly string[]): void =>
  localStorage.setItem(
    keyHere(key),
    JSON.stringify({ ...snoozed(), ...Object.fromEntries(items.map((item) => [item, Date.now() + weekMs])) }),
  )

export const wakeAll = (): void => localStorage.removeItem(keyHere(key))
