/** What bears on a task: rules that can apply to it, and texts near to it by meaning or by words. Without a task, what applies in general. */
import type { Condition } from '../../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { inScope, scopesOf } from '../../policy/rules/compiled.ts'
import { ruleInWords } from '../../policy/rules/describe.ts'
import type { LoadedRule } from '../../policy/rules/parse.ts'
import { stateOf } from '../../search/precedent.ts'
import { queryTerms, termsOf } from '../../search/terms.ts'
import { distanceOf, type Phrases } from './clusters.ts'

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

export interface Situation {
  project: string | null
  /** Categories of the precedents, and those that the task names; empty if unknown. */
  categories: ReadonlySet<string>
}

/** Fields of the context that name a tool, or what a tool works on. */
const ofTools = /^(?:context\.)?(?:tool|tool_name|mcp_server|server|command|program|path|file|url|input)(?:\.|$)/

const isAboutTools = (condition: Condition): boolean =>
  condition.type === 'command' ||
  condition.type === 'cel' ||
  (condition.type === 'field' && ofTools.test(condition.field)) ||
  (condition.type === 'compound' && condition.conditions.some(isAboutTools))

/** The values of which a field must have one; null if the rule does not say. */
function demanded(rule: LoadedRule, field: string): string[] | null {
  for (const one of rule.conditions)
    if (one.type === 'field' && one.field === field && ['=', '==', 'in'].includes(one.operator))
      return [one.value].flat().map(String)
  return null
}

const isOneOf = (values: readonly string[], names: Iterable<string>): boolean => {
  const wanted = new Set(values.map(skeleton))
  return [...names].some((name) => wanted.has(skeleton(name)))
}

/** Whether a rule can apply; null if only its text says whether it does. */
function canApply(rule: LoadedRule, { project, categories }: Situation): boolean | null {
  if (rule.action === 'log' || rule.mode === 'shadow') return false
  const names = project === null ? [] : [project]
  if (!inScope(scopesOf(rule).map(skeleton), names.map(skeleton))) return false
  const projects = demanded(rule, 'project')
  if (projects !== null && !isOneOf(projects, names)) return false
  const wanted = demanded(rule, 'category')
  if (wanted !== null && categories.size > 0) return isOneOf(wanted, categories)
  return wanted !== null || rule.conditions.some(isAboutTools) ? null : true
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
      return (canApply(rule, situation) ?? near) ? [{ rule, near }] : []
    })
    .sort(
      (a, b) =>
        Number(b.near) - Number(a.near) || strictness.indexOf(a.rule.action) - strictness.indexOf(b.rule.action),
    )
    .slice(0, maxRules)
    .map(({ rule }) => ({ id: rule.id, action: rule.action, text: textOf(rule), scopes: scopesOf(rule) }))
}
