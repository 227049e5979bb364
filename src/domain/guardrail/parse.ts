/** Guardrail files to rules: every form of them, and errors with line, column and the key that was meant. */
import * as v from 'valibot'
import { type Document, isMap, isPair, isSeq, LineCounter, type Node, parse, parseDocument } from 'yaml'
import { BreakerRule, Rule, RuleFile } from '../../../sdk/schema/guardrail.ts'
import { nearest } from '../nearest.ts'
import { compileCel } from './cel.ts'

/** What is wrong with a file, and where; lines and columns count from 1. */
export interface RuleError {
  file: string
  line: number
  column: number
  message: string
}

export interface LoadedRule extends Rule {
  file: string
  line: number
}

export interface ParsedFile {
  rules: LoadedRule[]
  breakers: BreakerRule[]
  templates: string[]
  errors: RuleError[]
}

type Path = (string | number)[]

/** `condition_<field>: value-or-"op value"` as a field condition. */
function flatCondition(field: string, value: unknown): unknown {
  const text = typeof value === 'string' ? value.trim() : null
  const match =
    text === null ? null : /^(?:(<=|>=|==|!=|<|>|=)\s*|(in|not_in|contains|exists)\s+)(\S[\s\S]*)$/.exec(text)
  const operand = match ? readOperand(match[3]!) : value
  const operator = match ? (match[1] ?? match[2]) : Array.isArray(value) ? 'in' : '='
  return { type: 'field', field, operator, value: operand }
}

function readOperand(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return text
  }
}

/** Brings flat forms to the long one, remembering where each came from. */
function expandRule(rule: unknown, at: Path, origins: Map<string, Path>): unknown {
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
      requirements.push(value === true ? key.slice('requires_'.length) : value)
    } else rest[key] = value
  }
  const join = (flat: unknown[], given: unknown, name: string): unknown => {
    if (flat.length === 0) return given
    if (!Array.isArray(given)) return given === undefined ? flat : given
    for (const index of given.keys()) origins.set([...at, name, flat.length + index].join('/'), [...at, name, index])
    return [...flat, ...given]
  }
  if (conditions.length > 0 || 'conditions' in rest) rest.conditions = join(conditions, rest.conditions, 'conditions')
  if (requirements.length > 0 || 'requirements' in rest)
    rest.requirements = join(requirements, rest.requirements, 'requirements')
  return rest
}

/** The longest prefix of a path that was expanded, taken back to where it stood. */
function original(path: Path, origins: Map<string, Path>): Path {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join('/'))
    if (origin) return [...origin, ...path.slice(length)]
  }
  return path
}

/** The node at a path, or the innermost one that exists on the way; of a map's entry, its key. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let offset = (node as Node | null)?.range?.[0] ?? 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(
        (item) => isPair(item) && String((item.key as { value?: unknown }).value ?? item.key) === String(step),
      )
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

const ruleKeys = [...Object.keys(Rule.entries), 'condition_<field>', 'requires_<field>']

/** The keys that may stand where an unknown one was found, judged by what stands around it. */
function knownKeys(siblings: unknown, path: Path): string[] {
  if (path.length === 1) return Object.keys(RuleFile.entries)
  if (path[0] === 'circuit_breakers') return Object.keys(BreakerRule.entries)
  const type = siblings !== null && typeof siblings === 'object' && 'type' in siblings ? siblings.type : null
  const kinds: Record<string, string[]> = {
    field: ['type', 'field', 'operator', 'value', 'when_missing'],
    semantic: ['type', 'threshold', 'outcome', 'within_days', 'min_matches'],
    temporal: ['type', 'field', 'value', 'window_hours', 'max_occurrences', 'between', 'weekdays', 'timezone'],
    aggregate: ['type', 'category', 'metric', 'operator', 'value', 'min_decisions', 'window_days'],
    compound: ['type', 'operator', 'conditions'],
    cel: ['type', 'expression'],
  }
  return path.includes('conditions') && typeof type === 'string' ? (kinds[type] ?? ['type']) : ruleKeys
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      inner !== null && typeof inner === 'object' ? (inner as Record<string | number, unknown>)[step] : undefined,
    value,
  )

function describe(issue: v.BaseIssue<unknown>, path: Path, whole: unknown): string {
  const key = String(path.at(-1) ?? 'the file')
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const known = knownKeys(valueAt(whole, path.slice(0, -1)), path)
    const near = nearest(key, known)
    return `unknown key ${key}; ${near ? `did you mean ${near}?` : `known are ${known.join(', ')}`}`
  }
  if (issue.received === 'undefined')
    return `${key} is required${issue.kind === 'schema' && issue.expected ? `: expected ${issue.expected}` : ''}`
  return `${key}: expected ${issue.kind === 'schema' ? issue.expected : issue.message}, received ${issue.received.slice(0, 80)}`
}

/** What a schema can't say of a condition. Returns the problem, or null. */
function conditionProblem(condition: Rule['conditions'][number]): string | null {
  if (condition.type === 'field') {
    const { operator, value } = condition
    if (operator === 'exists' ? value !== undefined && typeof value !== 'boolean' : value === undefined) {
      return operator === 'exists' ? 'exists takes true or false' : `${operator} needs a value`
    }
    if ((operator === 'in' || operator === 'not_in') && !Array.isArray(value)) return `${operator} needs a list`
    if (Array.isArray(value) && operator !== 'in' && operator !== 'not_in')
      return `${operator} takes no list; use in or not_in`
    if (['<', '<=', '>', '>='].includes(operator) && typeof value !== 'number') return `${operator} needs a number`
  }
  if (condition.type === 'temporal') {
    const { field, value, window_hours, max_occurrences, between, weekdays } = condition
    const counts = [field, value, window_hours, max_occurrences].filter((one) => one !== undefined).length
    if (counts > 0 && counts < 4) return 'counting needs field, value, window_hours and max_occurrences together'
    if (counts === 4 && (between || weekdays)) return 'one condition counts or looks at the clock, not both'
    if (counts === 0 && !between && !weekdays)
      return 'needs field, value, window_hours and max_occurrences, or between, or weekdays'
  }
  if (condition.type === 'compound' && condition.operator === 'not' && condition.conditions.length !== 1)
    return 'not takes exactly one condition'
  if (condition.type === 'cel') return compileCel(condition.expression).error
  return null
}

function* conditionsOf(conditions: Rule['conditions'], path: Path): Generator<[Rule['conditions'][number], Path]> {
  for (const [index, condition] of conditions.entries()) {
    yield [condition, [...path, index]]
    if (condition.type === 'compound') yield* conditionsOf(condition.conditions, [...path, index, 'conditions'])
  }
}

/** Reads one guardrail file. Never throws: whatever is wrong is in `errors`. */
export function parseRules(text: string, file: string): ParsedFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
  const errors: RuleError[] = []
  const report = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset)
    errors.push({ file, line: Math.max(1, line), column: Math.max(1, col), message })
  }
  for (const error of [...document.errors, ...document.warnings]) report(error.pos[0], error.message)
  const empty = { rules: [], breakers: [], templates: [], errors }
  if (errors.length > 0) return empty
  const raw: unknown = document.toJS({ maxAliasCount: 100 })
  if (raw === null || raw === undefined) return empty
  const bare = Array.isArray(raw)
  const whole = (bare ? { guardrails: raw } : raw) as Record<string, unknown>
  const origins = new Map<string, Path>()
  if (
    !bare &&
    typeof whole === 'object' &&
    Array.isArray(whole.guardrails) === false &&
    'guardrails' in whole &&
    whole.guardrails !== null
  ) {
    report(offsetOf(document, ['guardrails']), 'guardrails: expected a list of rules')
    return empty
  }
  const rules = Array.isArray(whole.guardrails) ? whole.guardrails : []
  const expanded =
    typeof whole === 'object'
      ? { ...whole, guardrails: rules.map((rule, index) => expandRule(rule, ['guardrails', index], origins)) }
      : whole
  const locate = (path: Path): number => {
    const at = original(path, origins)
    return offsetOf(document, bare ? at.slice(1) : at)
  }
  const parsed = v.safeParse(RuleFile, expanded)
  if (!parsed.success) {
    for (const issue of parsed.issues) {
      const path = (issue.path ?? []).map(({ key }) => key as string | number)
      report(locate(path), describe(issue, path, expanded))
    }
    return empty
  }
  const { guardrails, circuit_breakers, template } = parsed.output
  guardrails.forEach((rule, index) => {
    for (const [condition, path] of conditionsOf(rule.conditions, ['guardrails', index, 'conditions'])) {
      const problem = conditionProblem(condition)
      if (problem) report(locate(path), `rule ${rule.id}: ${problem}`)
    }
    if (rule.conditions.length === 0 && rule.requirements.length === 0)
      report(locate(['guardrails', index]), `rule ${rule.id}: has neither conditions nor requirements`)
  })
  return {
    rules: guardrails.map((rule, index) => ({
      ...rule,
      file,
      line: lines.linePos(locate(['guardrails', index])).line,
    })),
    breakers: circuit_breakers,
    templates: template === undefined ? [] : Array.isArray(template) ? template : [template],
    errors,
  }
}
