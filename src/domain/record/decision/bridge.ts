/** Bridge extraction: what a decision looks like and what it is for, by rule, in time linear in the text. */
import type { Bridge, Reason } from '../../../../sdk/schema/decision.ts'

const structureLength = 300
/** Most characters on each side of a bridge, the same as for a given bridge. */
const maxSideLength = 10_000
const sentenceEnd = /[.!?](?=\s|$)|[。！？]|\n\s*\n/g
const purposeReasons = new Set(['analysis', 'constraint', 'pattern'])
/** "to" after one of these introduces a place or a thing, not a purpose ("switch to SQLite", "due to load"). */
const noPurposeBefore = new Set(
  'switch switched move moved migrate migrated upgrade upgraded change changed convert converted rename renamed port ported back due up according relative close related prior next belong belongs refer refers listen listens respond responds add added bound compared similar equal'.split(
    ' ',
  ),
)

/** The first `most` characters; a surrogate pair is not split. */
export const head = (text: string, most: number): string =>
  text.slice(0, /[\ud800-\udbff]/.test(text[most - 1] ?? '') ? most - 1 : most)

/** The text up to the end of the sentence that reaches `least` characters. @param text without leading white space */
function sentences(text: string, least: number): string {
  sentenceEnd.lastIndex = 0
  for (let match = sentenceEnd.exec(text); match; match = sentenceEnd.exec(text)) {
    const end = match.index + 1
    if (end >= least) return text.slice(0, end).trim()
  }
  return text.trim()
}

/** The first "to …", "so that …" or "because …", up to the end of its clause. */
function purposeClause(text: string): string | null {
  for (const match of text.matchAll(/\b(?:so that|in order to|because|to)\s+(?=\S)/gi)) {
    const before = /(?<![a-z])([a-z]+)\s*$/i
      .exec(text.slice(Math.max(0, match.index - 24), match.index))?.[1]
      ?.toLowerCase()
    if (match[0].trim().toLowerCase() === 'to' && before && noPurposeBefore.has(before)) continue
    const rest = head(text.slice(match.index, match.index + 501), 500)
    const clause = /^[^.!?;\n]+(?:\.(?=\S)[^.!?;\n]*)*/.exec(rest)?.[0].trim()
    if (clause && clause.split(/\s+/).length > 1) return clause
  }
  return null
}

/** The strongest reason whose type states a purpose; the first of equally strong ones. */
function purposeReason(reasons: readonly Reason[]): string | null {
  const [best] = reasons
    .filter(({ type, text }) => purposeReasons.has(type) && text.trim() !== '')
    .sort((a, b) => b.strength - a.strength)
  return best?.text ?? null
}

/** Extracts a bridge from the fields of a decision. Deterministic. */
export function extractBridge(given: {
  decision: string
  context: string | null
  pattern: string | null
  reasons: readonly Reason[]
}): Bridge {
  const context = given.context?.trim() || null
  const structure = sentences(given.decision.trim(), structureLength)
  const purpose =
    (given.pattern?.trim() || null) ??
    purposeReason(given.reasons) ??
    purposeClause(given.decision) ??
    (context && purposeClause(context)) ??
    (context && sentences(context, 1)) ??
    structure
  return {
    structure: head(structure, maxSideLength),
    function: head(purpose.trim(), maxSideLength),
    tolerance: [],
    enforcement: [],
    prevention: [],
  }
}
