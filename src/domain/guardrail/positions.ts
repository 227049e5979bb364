/** YAML read with the place of everything in it, so that an error can name its line and column. */
import { isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import type { Path } from './forms.ts'

/** What is wrong with a file, and where; lines and columns count from 1. */
export interface RuleError {
  file: string
  line: number
  column: number
  message: string
}

export interface Located {
  /** The content; undefined where the file can't be read as YAML. */
  value: unknown
  errors: RuleError[]
  /** An error at the node of a path, or at the innermost one on the way that exists; of a map's entry, at its key. */
  at(path: Path, message: string): RuleError
}

/** Reads a YAML text. Never throws: whatever is wrong is in `errors`. */
export function readYaml(text: string, file: string): Located {
  const lines = new LineCounter()
  const errorAt = (offset: number, message: string): RuleError => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(1, line), column: Math.max(1, col), message }
  }
  const failed = (errors: RuleError[]): Located => ({ value: undefined, errors, at: (_, one) => errorAt(0, one) })
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
    const found = [...document.errors, ...document.warnings]
    if (found.length > 0) return failed(found.map(({ pos, message }) => errorAt(pos[0], message)))
    return {
      value: document.toJS({ maxAliasCount: 100 }) as unknown,
      errors: [],
      at: (path, message) => errorAt(offsetOf(document.contents, path), message),
    }
  } catch (error) {
    // Nested too deeply, or aliases that would grow without bound.
    return failed([errorAt(0, error instanceof Error ? error.message : String(error))])
  }
}

function offsetOf(root: unknown, path: Path): number {
  let node = root
  let offset = (root as Node | null)?.range?.[0] ?? 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String((key as { value?: unknown }).value ?? key) === String(step))
      if (!pair) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node) && typeof step === 'number' && node.items[step]) {
      node = node.items[step]
      offset = (node as Node).range?.[0] ?? offset
    } else break
  }
  return offset
}
