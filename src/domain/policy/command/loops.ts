/** Finds the loops over literals in the code of one-liners. */
import type { Token } from './tokens.ts'

const maxItems = 16

/** What the variables of loops are, for loops over literals: `for x in ['a', 'b']`, `for (const x of ['a', 'b'])`. */
export function loopsIn(tokens: readonly Token[]): Map<string, string[]> {
  const loops = new Map<string, string[]>()
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at]!.kind !== 'name' || tokens[at]!.text !== 'for') continue
    const start = tokens
      .slice(at + 1, at + 10)
      .findIndex(({ kind, text }) => kind === 'name' && /^(?:in|of)$/.test(text))
    const variable = start < 1 ? undefined : tokens[at + start]
    if (variable?.kind !== 'name') continue
    const items: string[] = []
    let [depth, lists] = [0, false]
    for (const one of tokens.slice(at + start + 2, at + start + 60)) {
      if (one.kind === 'text') items.push(one.text)
      else if (one.kind === 'name') {
        lists ||= /(?:^|\.)(?:iterdir|r?glob|walk|scandir|listdir|readdir(?:Sync)?)$/.test(one.text)
        items.push(...(loops.get(one.text) ?? []))
      } else if (one.kind === 'mark' && '([{'.includes(one.text)) depth++
      else if (one.kind === 'mark' && ')]}'.includes(one.text) && --depth < 0) break
      else if (one.kind === 'mark' && depth === 0 && (one.text === ':' || one.text === '\n')) break
    }
    // Loops over folders have several variables: `for root, folders, files in os.walk('/x')`.
    const named = tokens.slice(at + 1, at + start + 1).filter(({ kind }) => kind === 'name')
    if (items.length > 0)
      for (const { text } of named)
        loops.set(
          text,
          items.slice(0, maxItems).map((one) => (lists ? `${one}/*` : one)),
        )
  }
  return loops
}
