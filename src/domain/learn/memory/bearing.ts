/** What bears on a task: rules that can apply to it, and texts near to it by meaning or by words. Without a task, what applies in general. */
import { actionFields } from '../../../../sdk/schema/action.ts'
import type { Condition } from '../../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { inScope, scopesOf } from '../../policy/rules/compiled.ts'
import { ruleInWords } from '../../policy/rules/describe.ts'
import { isFact } from '../../policy/rules/fact-names.ts'
import type { LoadedRule } from '../../policy/rules/parse.ts'
import { distanceOf } from '../../search/embeddings.ts'
import { stateOf } from '../../search/precedent.ts'
import { queryTerms, termsOf } from '../../search/terms.ts'
import type { Phrases } from './clusters.ts'

/** Whether a text bears on the task. */
export type Bears = (text: string) => boolean

interface BearingTools {
  phrases: Pick<Phrases, 'vectors'>
  embedder: Pick<Embedder, 'precedent_distance'>
  signal: AbortSignal
}

/** Compares texts with a task as a search compares decisions. */
export async function bearingOn(
  { phrases, embedder, signal }: BearingTools,
  task: string,
  texts: readonly string[],
): Promise<Bears> {
  const terms = queryTerms(task)
  const known = new Map(texts.map((text) => [text, termsOf(text).counts]))
  // A word that most of the texts have, such as "the", says nothing about one of them.
  const weights = terms.map((term) => {
    const holding = [...known.values()].filter((counts) => counts.has(term)).length
    return Math.log(1 + (known.size - holding + 0.5) / (holding + 0.5))
  })
  const ideal = weights.reduce((sum, weight) => sum + weight, 0)
  const vectors = await phrases.vectors([task, ...texts], signal)
  const asked = vectors.get(task)
  const near = [...known].filter(([text, counts]) => {
    const share = terms.reduce((sum, term, at) => sum + (counts.has(term) ? weights[at]! / ideal : 0), 0)
    const vector = vectors.get(text)
    const distance = asked && vector ? distanceOf(asked, vector) : null
    const question = { terms: terms.length, decisions: texts.length, by_meaning: distance !== null }
    return stateOf({ distance, share }, question, embedder) === 'found'
  })
  const bearing = new Set(near.map(([text]) => text))
  return (text) => bearing.has(text)
}

/** What a rule is for, in one text; never empty. */
export const aboutRule = (rule: LoadedRule): string =>
  rule.description ?? rule.message ?? (ruleInWords(rule) || rule.id)

/** A rule as a model reads it. */
export interface ShownRule {
  id: string
  action: LoadedRule['action']
  /** What it is for, and when it applies, in words. */
  text: string
  scopes: string[]
}

/** What is known of a task before it becomes an action. */
export interface Situation {
  project: string | null
  /** Categories and stakes of the precedents, and those that the task names; empty if unknown. */
  category: ReadonlySet<string>
  stakes: ReadonlySet<string>
  /** Outcomes of the precedents; null without a task. */
  outcomes: ReadonlySet<string | null> | null
}

/** Whether a condition can hold for a task: never, if its rule is about such a task, as for any task, or as for tasks like this one. */
const [never, byText, forAny, forThis] = [0, 1, 2, 3] as const

type Field = Extract<Condition, { type: 'field' }>
const isOneOf = (values: readonly string[], names: Iterable<string>): boolean => {
  const wanted = new Set(values.map(skeleton))
  return [...names].some((name) => wanted.has(skeleton(name)))
}

function fieldCanHold({ field, operator, value }: Field, { project, category, stakes }: Situation): number {
  // What the context says of tools, paths and places is known only when there is an action.
  if (!Object.hasOwn(actionFields, field) && !isFact(field)) return byText
  if (!['=', '==', 'in'].includes(operator)) return forAny
  const wanted = [value].flat().map(String)
  if (field === 'project') return isOneOf(wanted, project === null ? [] : [project]) ? forAny : never
  if (field === 'category') return category.size === 0 ? byText : isOneOf(wanted, category) ? forThis : never
  if (field === 'stakes') return stakes.size === 0 || isOneOf(wanted, stakes) ? forAny : never
  return forAny
}

function canHold(condition: Condition, situation: Situation): number {
  switch (condition.type) {
    case 'field':
      return fieldCanHold(condition, situation)
    case 'semantic': {
      const { outcomes } = situation
      if (outcomes === null) return forAny
      return (condition.outcome === undefined ? outcomes.size > 0 : outcomes.has(condition.outcome)) ? forAny : never
    }
    case 'command':
    case 'cel':
      return byText
    case 'compound': {
      if (condition.operator === 'or') return Math.max(...condition.conditions.map((one) => canHold(one, situation)))
      const held = canAllHold(condition.conditions, situation)
      return condition.operator === 'and' || held === byText ? held : forAny
    }
    default:
      return forAny
  }
}

function canAllHold(conditions: readonly Condition[], situation: Situation): number {
  const each = conditions.map((one) => canHold(one, situation))
  return each.includes(never) ? never : each.includes(forThis) ? forThis : Math.min(forAny, ...each)
}

function canApply(rule: LoadedRule, situation: Situation): number {
  if (rule.action === 'log' || rule.mode === 'shadow') return never
  const names = situation.project === null ? [] : [skeleton(situation.project)]
  // What an action will be stated to be at stake, precedents do not say: rules that would stop it are shown.
  const known = rule.action === 'warn' ? situation : { ...situation, stakes: new Set<string>() }
  return inScope(scopesOf(rule).map(skeleton), names) ? canAllHold(rule.conditions, known) : never
}

const hasCode = (condition: Condition): boolean =>
  condition.type === 'cel' || (condition.type === 'compound' && condition.conditions.some(hasCode))

const maxCondition = 160

/** What a rule is for and when it applies; code is left out if the rule says what it is for. */
function textOf(rule: LoadedRule): string {
  const about = rule.description ?? rule.message
  const applies = ruleInWords(rule)
  const isLong = rule.conditions.some(hasCode) || applies.length > maxCondition
  const when = applies !== '' && !(isLong && about) ? `Applies if ${applies}` : null
  return [about?.replace(/\.$/, ''), when].filter(Boolean).join('. ') || rule.id
}

/** Texts that tell whether a rule bears on a task. */
export const textsOfRule = ({ description, message, id }: LoadedRule): string =>
  [description, message].filter(Boolean).join('. ') || id

const strictness = ['block', 'defer', 'step_up', 'modify', 'warn', 'log']
const maxRules = 6

/** The rules that can apply: first those that the task comes near to, then the strictest. @param bears null without a task */
export function rulesFor(rules: readonly LoadedRule[], situation: Situation, bears: Bears | null): ShownRule[] {
  return rules
    .flatMap((rule) => {
      const near = bears?.(textsOfRule(rule)) ?? false
      const can = canApply(rule, situation)
      return can > byText || (can === byText && near) ? [{ rule, near }] : []
    })
    .sort(
      (a, b) =>
        Number(b.near) - Number(a.near) || strictness.indexOf(a.rule.action) - strictness.indexOf(b.rule.action),
    )
    .slice(0, maxRules)
    .map(({ rule }) => ({ id: rule.id, action: rule.action, text: textOf(rule), scopes: scopesOf(rule) }))
}
