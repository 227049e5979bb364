/** Refuses values that stores and JSON would change: non-finite numbers, broken Unicode, very deep nesting. */
import { invalidParams } from '../../sdk/errors.ts'

/** Deeper values are refused: no meaningful value is nested so deeply, and recursive code would overflow the stack. */
const maxDepth = 64

/** Finds the first part of a value that can't be stored unchanged; null if none. `path` is built from the inside out. */
function findUnkept(
  value: unknown,
  depth: number,
): { path: (string | number)[]; expected: string; received: string } | null {
  if (typeof value === 'string')
    return value.isWellFormed()
      ? null
      : { path: [], expected: 'well-formed Unicode text', received: 'a lone surrogate' }
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path: [], expected: 'a finite number', received: 'one too large' }
  if (value === null || typeof value !== 'object') return null
  if (depth === maxDepth) return { path: [], expected: `at most ${maxDepth} levels`, received: 'a deeper value' }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findUnkept(value[index], depth + 1)
      if (found) return { ...found, path: [index, ...found.path] }
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const found = findUnkept(key, depth) ?? findUnkept((value as Record<string, unknown>)[key], depth + 1)
    if (found) return { ...found, path: [key, ...found.path] }
  }
  return null
}

/** Shortens a path or value for an error. */
export const shorten = (text: string): string =>
  text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text.toWellFormed()

/** @throws CstpError `invalid_params` with the path of the first part that would not be stored unchanged */
export function checkKept(params: unknown): void {
  const unkept = findUnkept(params, 0)
  if (unkept === null) return
  const { path, expected, received } = unkept
  const message = `expected ${expected}, received ${received}`
  throw invalidParams({ path: shorten(path.join('.')), message, expected, received })
}
