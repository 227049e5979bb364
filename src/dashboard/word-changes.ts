/** Two texts as one, with what was removed and what was added, word by word. */

export interface Part {
  kind: 'same' | 'removed' | 'added'
  text: string
}

const maxWords = 2_000

/** The parts in order. Texts of more than 2 000 words are shown one after the other. */
export function wordChanges(before: string, after: string): Part[] {
  const [a, b] = [before.split(/\s+/), after.split(/\s+/)]
  if (a.length > maxWords || b.length > maxWords)
    return [
      { kind: 'removed', text: before },
      { kind: 'added', text: after },
    ]
  // Lengths of the longest common subsequences of the ends of both texts.
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
  const parts: Part[] = []
  const add = (kind: Part['kind'], word: string) => {
    const last = parts.at(-1)
    if (last?.kind === kind) last.text += ` ${word}`
    else parts.push({ kind, text: word })
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
  return parts
}
