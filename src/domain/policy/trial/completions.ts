/** What an editor of rules offers while somebody types: keys, fields, operators and values, with the categories, agents, tags and tools in use. */
import * as v from 'valibot'
import { actionFields, factFields } from '../../../../sdk/schema/action.ts'
import { Condition, FieldCondition, operators, Rule, ruleActions } from '../../../../sdk/schema/guardrail.ts'
import { type CountKey, countBy } from '../../../../sdk/storage/groups.ts'
import type { Store } from '../../../../sdk/storage/store.ts'

interface Completion {
  text: string
  /** Null for a value. */
  about: string | null
}

/** Most values of one kind, the most frequent ones; and most audit entries that are searched for tools. */
const [mostValues, mostEntries] = [100, 500]

const values = (of: readonly unknown[]): Completion[] => of.map((one) => ({ text: String(one), about: null }))
const described = (fields: Record<string, { about: string }>, prefix = ''): Completion[] =>
  Object.entries(fields).map(([name, { about }]) => ({ text: prefix + name, about }))

const aboutOf = (schema: object): string | null => v.getDescription(schema as v.GenericSchema) ?? null
const keys = (entries: Record<string, object>): Completion[] =>
  Object.entries(entries).map(([text, schema]) => ({ text, about: aboutOf(schema) }))

const conditionKeys = Condition.options.flatMap(({ entries }) => keys(entries as Record<string, object>))

const fixed: Record<string, Completion[]> = {
  '': [...keys(Rule.entries), ...described(actionFields, 'condition_')],
  conditions: [...new Map(conditionKeys.map((one) => [one.text, one])).values()],
  field: described({ ...actionFields, ...factFields, 'context.tool': { about: 'Name of the tool that is called.' } }),
  operator: values(operators),
  action: values(ruleActions),
  mode: values(['shadow', 'enforce']),
  type: values(Condition.options.map(({ entries }) => entries.type.literal)),
  when_missing: values(v.unwrap(FieldCondition.entries.when_missing).options),
  ...Object.fromEntries(
    Object.entries(actionFields).flatMap(([name, field]) => ('values' in field ? [[name, values(field.values)]] : [])),
  ),
}

/** Names of tools that agents called. */
const called = async ({ audit }: Pick<Store, 'audit'>, since_ms: number): Promise<string[]> =>
  (await audit.list({ since_ms, limit: mostEntries })).flatMap(({ detail }) => {
    const { input } = (detail ?? {}) as { input?: { context?: { tool?: unknown } } | null }
    return typeof input?.context?.tool === 'string' ? [input.context.tool] : []
  })

/** By the key before the place; under the empty name the keys themselves. @param pinned tools of servers behind the gateway @param since_ms calls of tools that are looked at */
export async function completions(
  { store }: { store: Pick<Store, 'audit' | 'decisions'> },
  pinned: readonly string[],
  since_ms: number,
): Promise<Record<string, Completion[]>> {
  const used = async (by: CountKey) => (await countBy(store.decisions, {}, by)).map(({ value }) => value)
  const [category, agent_id, tags, project, tools] = await Promise.all([
    used('category'),
    used('agent'),
    used('tag'),
    used('project'),
    called(store, since_ms),
  ])
  const known = { category, agent_id, tags, project, 'context.tool': [...new Set([...pinned, ...tools])] }
  const offered = Object.entries(known).map(([name, texts]) => [name, values(texts.slice(0, mostValues))])
  return { ...fixed, ...Object.fromEntries(offered) }
}
