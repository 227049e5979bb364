/** JSON Schemas for editors and the reference page, derived from the schemas of guardrail files. */
import { actionFields } from '../../sdk/schema/action.ts'
import { BreakerRule, operators, Rule, RuleFile } from '../../sdk/schema/guardrail.ts'
import { TestFile } from '../../sdk/schema/guardrail-test.ts'
import type { JsonSchema } from '../core/json-schema.ts'
import { conditionKinds } from '../domain/policy/rules/conditions.ts'
import { head, inputSchema, rowsOf, schemaFile, table } from './markdown.ts'

const scalar = { type: ['string', 'number', 'boolean'] }
const flatForms = {
  '^condition_.+': {
    description: 'A condition on a field: a value, a list of values, or "operator value" such as "> 5000".',
    anyOf: [scalar, { type: 'array', items: scalar }],
  },
  '^requires_.+': { description: 'A field that must be exactly true.', const: true },
}

/** JSON Schema of rule files, including the flat forms that are converted before the schema is applied. */
export function rulesSchema(): string {
  const file = inputSchema(RuleFile)
  const { $schema, $defs, ...long } = file
  const rules = long.properties!.guardrails!
  const rule: JsonSchema = { ...rules.items, patternProperties: flatForms }
  long.properties!.guardrails = { ...rules, items: { $ref: '#/$defs/rule' } }
  const whole = {
    $schema,
    title: 'cstp guardrails',
    description: 'A list of rules, or rules, circuit breakers and templates by name.',
    anyOf: [{ type: 'array', items: { $ref: '#/$defs/rule' } }, long],
    $defs: { ...($defs as object), rule },
  }
  return `${JSON.stringify(whole, null, 2)}\n`
}

export const testsSchema = (): string => schemaFile(TestFile, 'cstp guardrail tests')

const meanings: Record<(typeof operators)[number], string> = {
  '<': 'Less. Numbers only.',
  '<=': 'Less or equal. Numbers only.',
  '>': 'Greater. Numbers only.',
  '>=': 'Greater or equal. Numbers only.',
  '=': 'Equal. A value of another kind is an error, so that `"5000"` does not slip past a rule about 5000.',
  '==': 'The same as `=`.',
  '!=': 'Not equal; true for values of another kind.',
  in: 'One of a list.',
  not_in: 'None of a list; true for values of another kind.',
  contains: 'A text contains a text, ignoring case; a list contains a value.',
  exists: 'The field is there; with the value false, that it is not.',
}

/** The reference page. */
export function guardrailsPage(): string {
  const fields = (schema: unknown) =>
    table(
      ['Key', 'Type', 'Default', 'Meaning'],
      rowsOf(inputSchema(schema), true).filter(
        ([path]) => !/^`(?:conditions|guardrails|circuit_breakers)\./.test(path!),
      ),
    )
  const about =
    'Everything that a guardrail file may contain. [The guide](../guide/guardrails.md) says how to write rules. For editors: [guardrails.schema.json](guardrails.schema.json) and [guardrail-tests.schema.json](guardrail-tests.schema.json).'
  const section = (title: string, text: string, lines: string) => `## ${title}\n\n${text}\n\n${lines}\n`
  return [
    head('Guardrail files', about),
    section('File', 'A bare list is taken as `guardrails`.', fields(RuleFile)),
    section(
      'Rule',
      'Beside these: `condition_<field>: value` or `condition_<field>: "operator value"`, and `requires_<field>: true`.',
      fields(Rule),
    ),
    section('Circuit breaker', 'Blocks a scope after failures.', fields(BreakerRule)),
    '## Conditions\n',
    ...Object.entries(conditionKinds).map(
      ([name, { schema, about }]) => `### ${name}\n\n${about}\n\n${fields(schema)}\n`,
    ),
    section(
      'Operators',
      'Of field conditions.',
      table(
        ['Operator', 'Meaning'],
        operators.map((one) => [`\`${one}\``, meanings[one]]),
      ),
    ),
    section(
      'Fields',
      'Any other name is looked up in the context; `context.<key>` says so.',
      table(
        ['Field', 'Kind', 'Meaning'],
        Object.entries(actionFields).map(([name, { kind, about }]) => [`\`${name}\``, kind, about]),
      ),
    ),
    section('Table tests', 'A file `<rules>.test.yaml` beside `<rules>.yaml`.', fields(TestFile)),
  ].join('\n')
}
