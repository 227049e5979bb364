/** Two texts as one line that shows what was removed and what was added, word by word. */
import { type Part, wordChanges } from '../dashboard/word-changes.ts'

const shown: Record<Part['kind'], (text: string) => string> = {
  same: (text) => text,
  removed: (text) => `[-${text}-]`,
  added: (text) => `{+${text}+}`,
}

/** Removed words are in `[-…-]`, added ones in `{+…+}`. */
export const changedWords = (before: string, after: string): string =>
  wordChanges(before, after)
    .map(({ kind, text }) => shown[kind](text))
    .join(' ')
