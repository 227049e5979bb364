/** A progress bar on stderr, drawn only where a terminal watches. */
import { fit, pad, type Terminal } from './terminal.ts'

export interface Progress {
  /** @param part done of the whole, 0 to 1; null where the whole is not known */
  show(part: number | null, text: string): void
  /** Prints a message above the bar. */
  note(text: string): void
  /** Takes the bar away. */
  end(): void
}

const cells = 24
const everyMs = 80

/** A bar of `columns` columns for a part of 1, in eighths of a column. */
export function bar(part: number, columns: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, part)) * columns * 8)
  const full = '█'.repeat(Math.floor(eighths / 8))
  return full + ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8]!
}

export function openProgress({ live, note, noteWidth, notePaint }: Terminal): Progress {
  let drawnAt = 0
  let drawn = false
  const clear = () => {
    if (drawn) note('\r\x1b[K')
    drawn = false
  }
  return {
    show(part, text) {
      const now = performance.now()
      if (!live || now - drawnAt < everyMs) return
      drawnAt = now
      const share = part === null ? '' : `${String(Math.floor(part * 100)).padStart(3)} % `
      const drawing = part === null ? '' : `${notePaint.cyan(pad(bar(part, cells), cells))} `
      const used = part === null ? 0 : share.length + cells + 1
      note(`\r${share}${drawing}${fit(text, Math.max(10, noteWidth - used - 1))}\x1b[K`)
      drawn = true
    },
    note(text) {
      clear()
      note(`${text}\n`)
      drawnAt = 0
    },
    end: clear,
  }
}
