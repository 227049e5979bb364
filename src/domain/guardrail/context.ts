/** Bounds of the free-form context of an action. */

const mostBytes = 65_536
const deepest = 8

function depth(value: unknown, left: number): boolean {
  if (value === null || typeof value !== 'object') return true
  return left > 0 && Object.values(value).every((inner) => depth(inner, left - 1))
}

function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([key, inner]) => key.isWellFormed() && wellFormed(inner))
}

/** What is wrong with a context; null where nothing is. */
export function contextProblem(
  context: Record<string, unknown>,
): { message: string; expected: string; received: string } | null {
  const refuse = (expected: string, received: string) => ({
    message: `expected ${expected}, received ${received}`,
    expected,
    received,
  })
  // Depth first: what is too deep can't be measured by writing it out.
  if (!depth(context, deepest)) return refuse(`at most ${deepest} levels`, 'more')
  const bytes = new TextEncoder().encode(JSON.stringify(context)).length
  if (bytes > mostBytes) return refuse(`at most ${mostBytes} bytes of JSON`, `${bytes}`)
  return wellFormed(context) ? null : refuse('well-formed Unicode text', 'a lone surrogate')
}
