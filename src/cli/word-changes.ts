/** Two texts as one line that shows what was removed and what was added, word by word. */

const maxWords = 2_000

/** Removed words are in `[-…-]`, added ones in `{+…+}`. Texts of more than 2 000 words are shown one after the other. */
export function changedWords(before: string, after: string): string {
  const [a, b] = [before.split(/\s+/), after.split(/\s+/)]
  if (a.length > maxWords || b.length > maxWords) return `[-${before}-] {+${after}+}`
  // Lengths of the longest common subsequences of the ends of both texts.
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
  const parts: { kind: 'same' | 'removed' | 'added'; words: string[] }[] = []
  const add = (kind: 'same' | 'removed' | 'added', word: string) => {
    const last = parts.at(-1)
    if (last?.kind === kind) last.words.push(word)
    else parts.push({ kind, words: [word] })
  }
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add('same', a[i]!)
      i++
      j++
    } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!))
      add('removed', a[i++]!)
    else add('added', b[j++]!)
  }
  const shown = {
    same: (text: string) => text,
    removed: (text: string) => `[-${text}-]`,
    added: (text: string) => `{+${text}+}`,
  }
  return parts.map(({ kind, words }) => shown[kind](words.join(' '))).join(' ')
}
