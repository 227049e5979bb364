/** The flat forms of a rule, `condition_<field>` and `requires_<field>`, brought to the long one. */
import { parse } from 'yaml'

export type Path = (string | number)[]
/** Where a part of the long form stands in the file, by its path joined with slashes. */
export type Origins = Map<string, Path>

/** An operator in front of its value, as in `"> 5000"` or `"in [a, b]"`; `exists` may stand alone. */
const withOperator = /^(?:(<=|>=|==|!=|<|>|=)\s*|(in|not_in|contains|exists)\s+)(\S[\s\S]*)$/

function readOperand(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return text
  }
}

/** `condition_<field>: value-or-"op value"` as a field condition. */
function flatCondition(field: string, value: unknown): unknown {
  const text = typeof value === 'string' ? value.trim() : ''
  if (text === 'exists') return { type: 'field', field, operator: 'exists' }
  const match = withOperator.exec(text)
  if (match) return { type: 'field', field, operator: match[1] ?? match[2], value: readOperand(match[3]!) }
  return { type: 'field', field, operator: Array.isArray(value) ? 'in' : '=', value }
}

/** Flat entries first, then those of the list; each remembers where it came from. */
function joined(flat: unknown[], given: unknown, at: Path, origins: Origins): unknown {
  if (given === undefined) return flat
  if (!Array.isArray(given) || flat.length === 0) return given
  const name = at.at(-1)
  for (const index of given.keys())
    origins.set([...at.slice(0, -1), name, flat.length + index].join('/'), [...at, index])
  return [...flat, ...given]
}

/** Brings one rule to the long form. What is no rule stays as it is, for the schema to refuse. */
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

/** Takes a path of the long form back to where it stands in the file. */
export function original(path: Path, origins: Origins): Path {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join('/'))
    if (origin) return [...origin, ...path.slice(length)]
  }
  return path
}
