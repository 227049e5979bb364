/** Parses control rule files into sets of rules, strictly: every error names file, line and what was expected. */

import { nearest } from '../../../../sdk/nearest.ts'
import { ControlCondition, ControlFile, ControlRule, tests } from '../../../../sdk/schema/control.ts'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { canonical } from '../../../core/canonical.ts'
import { sha256Hex } from '../../../core/digest.ts'
import { remembered } from '../../../core/remembered.ts'
import { readChecked } from '../../policy/rules/explain.ts'
import type { Path } from '../../policy/rules/positions.ts'

/** The rules of one file. */
export interface ControlSet extends ControlFile {
  /** SHA-256 of the file's content as canonical JSON, defaults filled in; lowercase hex. */
  digest: string
}

interface RuleText {
  /** Shown in errors. */
  name: string
  text: string
}

const knownKeys = (_: unknown, path: Path): string[] => {
  if (path.length === 1) return Object.keys(ControlFile.entries)
  if (path.includes('conditions')) return Object.keys(ControlCondition.entries)
  return path.includes('match') ? ['event_type', 'conditions'] : Object.keys(ControlRule.entries)
}

/** Problems that the schema can't express. */
function* problems(file: ControlFile): Generator<[Path, string]> {
  for (const [index, rule] of file.rules.entries()) {
    const at: Path = ['rules', index]
    if (rule.insufficient_evidence && rule.description !== undefined)
      yield [[...at, 'description'], 'a rule with insufficient_evidence maps nothing: expected reason, not description']
    if (rule.insufficient_evidence && rule.reason === undefined)
      yield [at, `rule ${rule.id}: expected reason beside insufficient_evidence`]
    if (!rule.insufficient_evidence && rule.reason !== undefined)
      yield [[...at, 'reason'], 'expected insufficient_evidence: true beside reason']
    if (!rule.insufficient_evidence && rule.description === undefined && rule.reason === undefined)
      yield [at, `rule ${rule.id}: expected description, or insufficient_evidence and reason`]
    for (const [place, condition] of rule.match.conditions.entries()) {
      const asked = tests.filter((test) => condition[test] !== undefined)
      if (asked.length !== 1)
        yield [
          [...at, 'match', 'conditions', place],
          `expected exactly one of ${tests.join(', ')}, received ${asked.join(' and ') || 'none'}`,
        ]
    }
  }
}

/** Reads one file. Never throws: any problem is in `errors`, and then `set` is null. */
export function parseControls({ name, text }: RuleText): { set: ControlSet | null; errors: RuleProblem[]; at: Locate } {
  const { value, errors, at } = readChecked(text, name, ControlFile, knownKeys)
  if (value === null) return { set: null, errors, at }
  const found = [...problems(value)].map(([path, message]) => at(path, message))
  if (found.length > 0) return { set: null, errors: found, at }
  const digest = sha256Hex(canonical(value))
  return { set: { ...value, digest }, errors: [], at }
}

/** Files of control rules, which are read again whenever a workspace is opened. */
const mostFiles = 32
const parseFile = remembered((name: string, text: string) => parseControls({ name, text }), mostFiles)

type Locate = (path: Path, message: string) => RuleProblem

/** Reads the files as one body of rules: ids must be unique across all files, and a control must have one name. */
export function parseControlFiles(files: readonly RuleText[]): { sets: ControlSet[]; errors: RuleProblem[] } {
  const errors: RuleProblem[] = []
  const sets: ControlSet[] = []
  const taken = new Map<string, string>()
  const controls = new Map<string, string>()
  for (const file of files) {
    const { set, errors: found, at } = parseFile(file.name, file.text)
    errors.push(...found)
    if (!set) continue
    sets.push(set)
    for (const [index, { id, function_id, control_name }] of set.rules.entries()) {
      const other = taken.get(id)
      if (other !== undefined) errors.push(at(['rules', index, 'id'], `the id ${id} is taken by a rule of ${other}`))
      taken.set(id, file.name)
      const called = controls.get(function_id) ?? control_name
      controls.set(function_id, called)
      if (called !== control_name) {
        const near = nearest(control_name, [called]) ? '; is one of them mistyped?' : ''
        const message = `control ${function_id}: expected the name that it has elsewhere, ${JSON.stringify(called)}${near}`
        errors.push(at(['rules', index, 'control_name'], message))
      }
    }
  }
  return { sets, errors }
}
