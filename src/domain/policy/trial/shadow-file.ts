/** Adds a draft as a rule file in shadow mode, after checking that nothing is stopped or allowed by it. */
import { isAlias, isMap, isSeq, parseDocument } from 'yaml'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { type Added, fileName, type Policy, type PolicySet } from '../rules/set.ts'

/** The same file with `mode: shadow` in each of its rules; comments are kept. */
export function inShadowMode(text: string): string {
  const document = parseDocument(text)
  const { contents } = document
  const rules = isMap(contents) ? contents.get('guardrails') : contents
  for (const item of isSeq(rules) ? rules.items : []) {
    const rule = isAlias(item) ? item.resolve(document) : item
    if (isMap(rule)) rule.set('mode', 'shadow')
  }
  return document.toString({ lineWidth: 0 })
}

/** Why a compiled draft may not be added to the rules in force. */
function* shadowProblems({ rules, breakers }: PolicySet, inForce: PolicySet, file: string): Generator<RuleProblem> {
  const known = new Map(inForce.rules.map(({ rule }) => [rule.id, rule]))
  const whole = { file, line: 1, column: 1 }
  if (rules.length === 0) yield { ...whole, message: 'there is no rule in it' }
  for (const { scope } of breakers)
    yield { ...whole, message: `the circuit breaker ${scope} would be in force: a breaker has no shadow mode` }
  for (const { rule } of rules) {
    const place = { file, line: rule.line, column: rule.column }
    const other = known.get(rule.id)
    // This includes shipped rules, which the draft would replace.
    if (other)
      yield { ...place, message: `the rule ${rule.id} is in force already (${fileName(other.file)}:${other.line})` }
    if (rule.mode !== 'shadow')
      yield {
        ...place,
        message: `the rule ${rule.id} would be in force: only rules of the draft itself are put in shadow mode`,
      }
  }
}

const nameOf = (id: string): string => `shadow-${id.replace(/[^A-Za-z0-9-]+/g, '-').slice(0, 64)}.yaml`

interface Shadowed extends Added {
  /** Ids of the rules that were added. */
  rules: string[]
  /** Text of the file that was added or may be added by hand; null if there are errors. */
  yaml: string | null
}

/** Adds a draft in shadow mode to the rules in force. */
export async function shadow(policy: Policy, inForce: PolicySet, yaml: string): Promise<Shadowed> {
  const refused = (errors: RuleProblem[]) => ({ file: null, rules: [], yaml: null, errors })
  const draft = { name: 'draft.yaml', text: yaml }
  // Errors are reported for the text as given, whose lines the caller knows.
  const given = await policy.draft(draft)
  if (!given.set) return refused(given.errors)
  const text = inShadowMode(yaml)
  const { set, errors } = await policy.draft({ ...draft, text })
  if (!set) return refused(errors)
  const problems = [...shadowProblems(set, inForce, draft.name)]
  if (problems.length > 0) return refused(problems)
  const rules = set.rules.map(({ rule }) => rule.id)
  const added = await policy.add(nameOf(rules[0]!), text)
  return { ...added, rules: added.file === null ? [] : rules, yaml: added.errors.length === 0 ? text : null }
}
