/** Explains a schema issue so that a person can fix it: the key, the expected value, and the key that was probably meant. */
import * as v from 'valibot'
import { nearest } from '../../../../sdk/nearest.ts'
import { BreakerRule, Rule, RuleFile } from '../../../../sdk/schema/guardrail.ts'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { inWords } from '../../../core/params.ts'
import { conditionKeys } from './conditions.ts'
import { type Path, readYaml } from './positions.ts'

const ruleKeys = [...Object.keys(Rule.entries), 'condition_<field>', 'requires_<field>']

/** The flat key that was probably meant if the first part has a typo, as in `conditon_stakes`. */
function nearestFlat(key: string): string | null {
  const at = key.search(/[_-]/)
  const start = at > 0 ? nearest(key.slice(0, at), ['condition', 'requires']) : null
  return start && `${start}_${key.slice(at + 1)}`
}

/** The keys that are allowed at the place of an unknown key. */
function knownKeys(around: unknown, path: Path): string[] {
  if (path.length === 1) return Object.keys(RuleFile.entries)
  if (path[0] === 'circuit_breakers') return Object.keys(BreakerRule.entries)
  if (!path.includes('conditions')) return ruleKeys
  const type = around !== null && typeof around === 'object' && 'type' in around ? String(around.type) : ''
  return conditionKeys(type)
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      inner !== null && typeof inner === 'object' ? (inner as Record<string | number, unknown>)[step] : undefined,
    value,
  )

/** @param whole the value that was checked */
export function explain(issue: v.BaseIssue<unknown>, path: Path, whole: unknown, keys = knownKeys): string {
  const last = path.at(-1) ?? 'the file'
  // An index on its own is not a name.
  const key = typeof last === 'number' ? `${String(path.at(-2) ?? '')}[${last}]` : last
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const known = keys(valueAt(whole, path.slice(0, -1)), path)
    const near = (known === ruleKeys ? nearestFlat(key) : null) ?? nearest(key, known)
    return `unknown key ${key}; ${near ? `did you mean ${near}?` : `known are ${known.join(', ')}`}`
  }
  const value = valueAt(whole, path)
  if (value !== null && typeof value === 'object' && 'not_true' in value)
    return `a requirement takes true and nothing else, received ${JSON.stringify(value.not_true)}`
  if (issue.type === 'strict_object' && issue.received === 'undefined') return `${key} is required`
  const options =
    issue.type === 'picklist' ? (issue as v.PicklistIssue).expected.replace(/[()"]/g, '').split(' | ') : []
  const expected =
    options.length > 0
      ? `one of ${options.join(', ')}`
      : issue.kind === 'schema'
        ? inWords(issue.expected ?? '')
        : issue.message
  const near = typeof value === 'string' ? nearest(value, options) : null
  return `${key}: expected ${expected}, received ${inWords(issue.received).slice(0, 80)}${near ? `; did you mean ${near}?` : ''}`
}

/**
 * Reads a YAML text by a schema. Never throws: `value` is null if anything is wrong.
 * @param keys the keys that are allowed at the place of an unknown key
 */
export function readChecked<S extends v.GenericSchema>(
  text: string,
  file: string,
  schema: S,
  keys: typeof knownKeys,
): { value: v.InferOutput<S> | null; errors: RuleProblem[]; at: ReturnType<typeof readYaml>['at'] } {
  const { value, errors, at } = readYaml(text, file)
  if (errors.length > 0) return { value: null, errors, at }
  const parsed = v.safeParse(schema, value)
  if (parsed.success) return { value: parsed.output, errors, at }
  const problems = parsed.issues.map((issue) => {
    const path = (issue.path ?? []).map(({ key }) => key as string | number)
    return at(path, explain(issue, path, value, keys))
  })
  return { value: null, errors: problems, at }
}
