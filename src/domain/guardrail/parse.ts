/** Guardrail files to rules: every form of them, and errors with line, column and the key that was meant. */
import * as v from 'valibot'
import { type BreakerRule, type Rule, RuleFile } from '../../../sdk/schema/guardrail.ts'
import { ruleProblems } from './check.ts'
import { explain } from './explain.ts'
import { expandRule, type Origins, original, type Path } from './forms.ts'
import { type RuleError, readYaml } from './positions.ts'

/** Where something stands; lines and columns count from 1. */
export interface Place {
  file: string
  line: number
  column: number
}

export interface LoadedRule extends Rule, Place {}

export interface ParsedFile {
  rules: LoadedRule[]
  breakers: { rule: BreakerRule; place: Place }[]
  templates: { name: string; place: Place }[]
  errors: RuleError[]
}

/** Reads one guardrail file. Never throws: whatever is wrong is in `errors`. */
export function parseRules(text: string, file: string): ParsedFile {
  const { value: raw, errors, at } = readYaml(text, file)
  const empty = (problems: RuleError[]): ParsedFile => ({ rules: [], breakers: [], templates: [], errors: problems })
  if (errors.length > 0 || raw === null || raw === undefined) return empty(errors)
  const bare = Array.isArray(raw)
  const whole: unknown = bare ? { guardrails: raw } : raw
  const origins: Origins = new Map()
  const locate = (path: Path, message: string): RuleError => {
    const place = original(path, origins)
    return at(bare ? place.slice(1) : place, message)
  }
  const placeOf = (path: Path): Place => {
    const { line, column } = locate(path, '')
    return { file, line, column }
  }
  const parsed = safely(() => {
    const expanded = expandFile(whole, origins)
    return { expanded, ...v.safeParse(RuleFile, expanded) }
  })
  if (parsed === null) return empty([at([], 'is nested too deeply')])
  if (!parsed.success) {
    const problems = parsed.issues.map((issue) => {
      const path = (issue.path ?? []).map(({ key }) => key as string | number)
      return locate(path, explain(issue, path, parsed.expanded))
    })
    return empty(problems)
  }
  const { guardrails, circuit_breakers, template = [] } = parsed.output
  return {
    rules: guardrails.map((rule, index) => ({ ...rule, ...placeOf(['guardrails', index]) })),
    breakers: circuit_breakers.map((rule, index) => ({ rule, place: placeOf(['circuit_breakers', index]) })),
    templates: [template].flat().map((name) => ({ name, place: placeOf(['template']) })),
    errors: guardrails.flatMap((rule, index) =>
      [...ruleProblems(rule, ['guardrails', index])].map(([path, message]) => locate(path, message)),
    ),
  }
}

function expandFile(whole: unknown, origins: Origins): unknown {
  if (whole === null || typeof whole !== 'object' || Array.isArray(whole)) return whole
  // Keys with nothing behind them, as in a file that is still to be filled.
  const filled: Record<string, unknown> = Object.fromEntries(Object.entries(whole).filter(([, part]) => part !== null))
  if (!Array.isArray(filled.guardrails)) return filled
  return {
    ...filled,
    guardrails: filled.guardrails.map((rule, index) => expandRule(rule, ['guardrails', index], origins)),
  }
}

/** Null where the stack ends: conditions may be nested without end. */
function safely<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
