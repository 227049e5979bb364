/** Minimum and maximum retention times of records: read from YAML, and refused if two rules contradict each other. */
import * as v from 'valibot'
import { CstpError, type Issue } from '../../../sdk/errors.ts'
import { Category, nonEmptyText, Stakes, type Stakes as StakesValue } from '../../../sdk/schema/decision.ts'
import type { RuleProblem } from '../../../sdk/schema/policy.ts'
import { compileParams } from '../../core/params.ts'
import { dayMs } from '../../core/time.ts'
import { readYaml } from '../policy/rules/positions.ts'

/** Kinds of records with separate retention. */
export const kinds = ['decision', 'audit', 'action', 'session'] as const
export type Kind = (typeof kinds)[number]

const duration = v.pipe(v.string(), v.regex(/^[1-9]\d{0,5}[dy]$/, 'days or years, such as 90d or 7y'))

const Rule = v.object({
  kind: v.picklist(kinds),
  category: v.optional(Category),
  stakes: v.optional(v.union([Stakes, v.pipe(v.array(Stakes), v.minLength(1, 'at least one'))])),
  at_least: v.optional(duration),
  at_most: v.optional(duration),
  basis: nonEmptyText(200),
  unless: v.optional(v.array(nonEmptyText(200)), () => []),
})
const parseRules = compileParams(v.object({ retention: v.array(Rule) }))

/** A rule, with its times in milliseconds. */
export interface RetentionRule {
  kind: Kind
  category: string | null
  /** Null for all. */
  stakes: readonly StakesValue[] | null
  at_least_ms: number | null
  at_most_ms: number | null
  basis: string
  /** Grounds on which a record may be erased before its time. */
  unless: readonly string[]
  /** Name of the rule in messages. */
  name: string
}

/** The limits that rules set for a record. */
export interface Limits {
  /** The rule with the longest minimum, and the one with the shortest maximum. */
  least: RetentionRule | null
  most: RetentionRule | null
}

/** How long the service keeps these kinds at most, whatever the rules say. */
const kept: Partial<Record<Kind, number>> = { action: 30 * dayMs, session: 90 * dayMs }

const yearDays = 365.25
const msOf = (text: string | undefined): number | null =>
  text === undefined ? null : Math.round(Number(text.slice(0, -1)) * (text.endsWith('y') ? yearDays : 1) * dayMs)
const daysOf = (ms: number): string => `${Math.round(ms / dayMs)} days`

const overlaps = <T>(a: readonly T[] | null, b: readonly T[] | null): boolean =>
  a === null || b === null || a.some((one) => b.includes(one))

/** Whether both rules can apply to one record. */
const meet = (a: RetentionRule, b: RetentionRule): boolean =>
  a.kind === b.kind &&
  (a.category === null || b.category === null || a.category === b.category) &&
  overlaps(a.stakes, b.stakes)

/** Problems of well-formed rules, in sentences. */
export function contradictions(rules: readonly RetentionRule[]): string[] {
  const found = rules.flatMap((least) =>
    rules.flatMap((most) =>
      meet(least, most) && least.at_least_ms !== null && most.at_most_ms !== null && least.at_least_ms > most.at_most_ms
        ? `${least.name} keeps a ${least.kind} for at least ${daysOf(least.at_least_ms)}, and ${most.name} for at most ${daysOf(most.at_most_ms)}`
        : [],
    ),
  )
  for (const { name, kind, category, stakes, at_least_ms, at_most_ms } of rules) {
    if (at_least_ms === null && at_most_ms === null) found.push(`${name} says neither at_least nor at_most`)
    if (kind !== 'decision' && (category !== null || stakes !== null))
      found.push(`${name}: category and stakes are of decisions, not of kind ${kind}`)
    const most = kept[kind]
    if (most !== undefined && (at_least_ms ?? 0) > most)
      found.push(`${name}: the service keeps a ${kind} for ${daysOf(most)}, at_least can't be more`)
  }
  return found
}

/** @param name of the file, for messages @returns the rules, or what is wrong with them */
export function parseRetention(text: string, name: string): { rules: RetentionRule[] } | { problems: string[] } {
  const { value, errors, at: placed } = readYaml(text, name)
  const shown = ({ file, line, column, message }: RuleProblem) => `${file}:${line}:${column}: ${message}`
  if (errors.length > 0) return { problems: errors.map(shown) }
  let given: ReturnType<typeof parseRules>
  try {
    given = parseRules(value)
  } catch (error) {
    if (!(error instanceof CstpError)) throw error
    const issues = (error.data?.issues ?? []) as Issue[]
    const pathOf = (path: string) => path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step))
    return { problems: issues.map(({ path, message }) => shown(placed(pathOf(path), `${path}: ${message}`))) }
  }
  const rules = given.retention.map(
    ({ at_least, at_most, category = null, stakes = null, ...rule }, at): RetentionRule => ({
      ...rule,
      category,
      stakes: typeof stakes === 'string' ? [stakes] : stakes,
      at_least_ms: msOf(at_least),
      at_most_ms: msOf(at_most),
      name: `rule ${at + 1} (${rule.basis})`,
    }),
  )
  const problems = contradictions(rules).map((problem) => `${name}: ${problem}`)
  return problems.length > 0 ? { problems } : { rules }
}

const longest = (a: RetentionRule, b: RetentionRule) => b.at_least_ms! - a.at_least_ms!
const shortest = (a: RetentionRule, b: RetentionRule) => a.at_most_ms! - b.at_most_ms!

export function limitsOf(
  rules: readonly RetentionRule[],
  of: { kind: Kind; category?: string | null; stakes?: StakesValue },
): Limits {
  const own = rules.filter(
    ({ kind, category, stakes }) =>
      kind === of.kind &&
      (category === null || category === of.category) &&
      (stakes === null || (of.stakes !== undefined && stakes.includes(of.stakes))),
  )
  return {
    least: own.filter(({ at_least_ms }) => at_least_ms !== null).sort(longest)[0] ?? null,
    most: own.filter(({ at_most_ms }) => at_most_ms !== null).sort(shortest)[0] ?? null,
  }
}

const folded = (text: string): string => text.trim().toLowerCase()

/** The rule that does not allow a decision to be erased yet; null if none does, or if the rule makes an exception for this ground. */
export function keptBy(
  rules: readonly RetentionRule[],
  { category, stakes, recorded_ms }: { category: string | null; stakes: StakesValue; recorded_ms: number },
  basis: string,
  now_ms: number,
): RetentionRule | null {
  const { least } = limitsOf(rules, { kind: 'decision', category, stakes })
  if (least === null || now_ms - recorded_ms >= least.at_least_ms!) return null
  return least.unless.some((one) => folded(one) === folded(basis)) ? null : least
}
