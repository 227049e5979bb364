/** Reads YAML with positions, so that an error can name its line and column, and expands the flat forms of a rule. */
import { isMap, isSeq, LineCounter, type Node, parse, parseDocument } from 'yaml'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { messageOf } from '../../../core/log.ts'

interface Located {
  /** The content; undefined if the file can't be read as YAML. */
  value: unknown
  errors: RuleProblem[]
  /** An error at the node of a path, or at its innermost ancestor that exists; for an entry of a map, at its key. */
  at(path: Path, message: string): RuleProblem
}

/** Reads a YAML text. Never throws: everything that is wrong is in `errors`. */
export function readYaml(text: string, file: string): Located {
  const lines = new LineCounter()
  const errorAt = (offset: number, message: string): RuleProblem => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(1, line), column: Math.max(1, col), message }
  }
  const failed = (errors: RuleProblem[]): Located => ({ value: undefined, errors, at: (_, one) => errorAt(0, one) })
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
    return failed([errorAt(0, messageOf(error))])
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

// The flat forms of a rule, `condition_<field>` and `requires_<field>`, expanded to the long form.

export type Path = (string | number)[]
/** The path in the file for each part of the long form, by its path joined with slashes. */
export type Origins = Map<string, Path>

/**
 * An operator before its value, as in `"> 5000"` or `"in [a, b]"`; only `exists` needs no value. Any sequence of operator characters
 * matches, with or without a value, so that an unknown operator, as in `"=> 5000"`, or a missing value is refused. Read as text, it would
 * never be equal.
 */
const withOperator = /^(?:([<>=!~≤≥≠]+)\s*|(in|not_in|contains|exists)(?:\s+|$))([\s\S]*)$/

function readOperand(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return text
  }
}

/** `condition_<field>: value-or-"op value"` as a field condition. */
function flatCondition(field: string, value: unknown): unknown {
  const [, sign, word, operand] = (typeof value === 'string' && withOperator.exec(value.trim())) || []
  const operator = sign ?? word
  if (operator) return { type: 'field', field, operator, ...(operand && { value: readOperand(operand) }) }
  return { type: 'field', field, operator: Array.isArray(value) ? 'in' : '=', value }
}

/** Flat entries first, then those of the list; `origins` gets the path of each. */
function joined(flat: unknown[], given: unknown, at: Path, origins: Origins): unknown {
  if (given === undefined) return flat
  if (!Array.isArray(given) || flat.length === 0) return given
  const name = at.at(-1)
  for (const index of given.keys())
    origins.set([...at.slice(0, -1), name, flat.length + index].join('/'), [...at, index])
  return [...flat, ...given]
}

/** Expands one rule to the long form. Anything else is returned unchanged, for the schema to refuse. */
export function expandRule(rule: unknown, at: Path, origins: Origins): unknown {
  if (rule === null || typeof rule !== 'object' || Array.isArray(rule)) return rule
  const rest: Record<string, unknown> = {}
  const conditions: unknown[] = []
  const requirements: unknown[] = []
  for (const [key, value] of Object.entries(rule)) {
    if (key.startsWith('condition_')) {
      origins.set([...at, 'conditions', conditions.length].join('/'), [...at, key])
      conditions.push(flatCondition(key.slice('condition_'.length), value))
    } else if (key.startsWith('requires_')) {
      origins.set([...at, 'requirements', requirements.length].join('/'), [...at, key])
      requirements.push(value === true ? key.slice('requires_'.length) : { not_true: value })
    } else rest[key] = value
  }
  if (conditions.length > 0) rest.conditions = joined(conditions, rest.conditions, [...at, 'conditions'], origins)
  if (requirements.length > 0)
    rest.requirements = joined(requirements, rest.requirements, [...at, 'requirements'], origins)
  return rest
}

/** Translates a path of the long form to the path in the file. */
export function original(path: Path, origins: Origins): Path {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join('/'))
    if (origin) return [...origin, ...path.slice(length)]
  }
  return path
}
