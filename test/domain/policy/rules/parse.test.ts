/** Guardrail files: every form, and errors that say where and what was meant. */
import { describe, expect, test } from 'bun:test'
import { parseRules } from '../../../../src/domain/policy/rules/parse.ts'
import { buildPolicy } from '../../../../src/domain/policy/rules/set.ts'

const field = (name: string, operator: string, value?: unknown) => ({
  type: 'field',
  field: name,
  operator,
  ...(value !== undefined && { value }),
  when_missing: operator === 'exists' ? 'no_match' : 'match',
})

const conditionsOf = (text: string) => {
  const { rules, errors } = parseRules(text, 'f.yaml')
  expect(errors).toEqual([])
  return rules[0]!.conditions as unknown
}

describe('forms', () => {
  test.each([
    ['5', field('x', '=', 5)],
    ['yes', field('x', '=', 'yes')],
    ['true', field('x', '=', true)],
    ['critical', field('x', '=', 'critical')],
    ['"> 5"', field('x', '>', 5)],
    ['">=0.5"', field('x', '>=', 0.5)],
    ['"< -1"', field('x', '<', -1)],
    ['"!= prod"', field('x', '!=', 'prod')],
    ['"= true"', field('x', '=', true)],
    ['"== \'5\'"', field('x', '==', '5')],
    ['"in [a, 2]"', field('x', 'in', ['a', 2])],
    ['[a, b]', field('x', 'in', ['a', 'b'])],
    ['"not_in [a]"', field('x', 'not_in', ['a'])],
    ['"contains secret"', field('x', 'contains', 'secret')],
    ['exists', field('x', 'exists')],
    ['"exists false"', field('x', 'exists', false)],
    ['income', field('x', '=', 'income')],
  ])('condition_x: %s', (text, wanted) => {
    expect(conditionsOf(`- { id: r, condition_x: ${text} }`)).toEqual([wanted])
  })

  test('a file is a list, or a mapping, or empty', () => {
    const rule = '{ id: r, condition_x: 1 }'
    for (const text of [`- ${rule}`, `guardrails: [${rule}]`, `guardrails:\n  - ${rule}\ncircuit_breakers: []\n`])
      expect(parseRules(text, 'f').rules.map(({ id }) => id)).toEqual(['r'])
    for (const text of ['', '# nothing yet\n', 'guardrails:\n', 'circuit_breakers:\ntemplate:\n', '[]'])
      expect(parseRules(text, 'f')).toEqual({ rules: [], breakers: [], templates: [], errors: [] })
  })

  test('flat and long entries of one rule are joined', () => {
    const text = `
- id: r
  condition_a: 1
  requires_ok: true
  conditions: [{ type: field, field: b, operator: "=", value: 2 }]
  requirements: [fine]
`
    const [rule] = parseRules(text, 'f').rules
    expect(rule!.conditions as unknown).toEqual([field('a', '=', 1), field('b', '=', 2)])
    expect(rule!.requirements).toEqual(['ok', 'fine'])
    expect([rule!.action, rule!.line, rule!.column]).toEqual(['block', 2, 3])
  })
})

describe('errors', () => {
  /** `line:column message` of each error. */
  const errorsOf = (text: string) =>
    parseRules(text, 'f.yaml').errors.map(({ line, column, message }) => `${line}:${column} ${message}`)

  test.each([
    ['- id: r\n  acton: block\n  condition_x: 1', '2:3 unknown key acton; did you mean action?'],
    ['guardrails: []\nbreakers: []', '2:1 unknown key breakers'],
    ['circuit_breakers:\n  - { scope: global, treshold: 1 }', '2:22 unknown key treshold'],
    ['- id: r\n  action: deny\n  condition_x: 1', '2:3 action: expected'],
    ['- id: r\n  action: blok\n  condition_x: 1', 'did you mean block?'],
    ['- condition_x: 1', '1:3 id is required'],
    ['- id: "a b"\n  condition_x: 1', '1:3 id: expected letters, digits'],
    ['- id: r\n  condition_x: "> high"', '2:3 rule r: > needs a number'],
    ['- id: r\n  condition_x: "in production"', '2:3 rule r: in needs a list'],
    ['- id: r\n  condition_x: "=> 5"', 'operator: expected one of <, <=, >'],
    ['- id: r\n  condition_x: "=> 5"', 'received "=>"; did you mean >=?'],
    ['- id: r\n  condition_x: "> "', 'rule r: x: expected a value after >, received none'],
    ['- id: r\n  condition_x: not_in', 'rule r: x: expected a value after not_in, received none'],
    ['- id: r\n  condition_x: "=<5"', 'did you mean <=?'],
    ['- id: r\n  condition_x: "=! a"', 'received "=!"'],
    ['- id: r\n  condition_x: "≥ 5"', 'operator: expected one of'],
    ['- id: r\n  condition_confidence: high', '2:3 rule r: confidence is a number and can\'t be compared with "high"'],
    ['- id: r\n  condition_tags: prod', '2:3 rule r: tags is a list of texts; use contains'],
    ['- id: r\n  condition_has_query: "yes"', '2:3 rule r: has_query is a boolean'],
    ['- id: r\n  requires_review: false', '2:3 a requirement takes true and nothing else, received false'],
    ['- id: r', '1:3 rule r: has neither conditions nor requirements'],
    ['- id: r\n  id: s\n  condition_x: 1', '2:3 Map keys must be unique'],
    ['- id: [', 'Flow sequence'],
    ['guardrails: 5', '1:1 guardrails: expected an array'],
    ['5', '1:1 the file: expected'],
    [
      '- id: r\n  conditions:\n    - type: field\n      field: x\n      operator: "~"\n      value: 1',
      '5:7 operator: expected',
    ],
    ['- id: r\n  conditions:\n    - { type: fild, field: x }', '3:9 type: expected'],
    [
      '- id: r\n  conditions:\n    - { type: cel, expresion: "true" }',
      '3:20 unknown key expresion; did you mean expression?',
    ],
    [
      '- id: r\n  conditions:\n    - { type: cel, expression: "action.stake == 1" }',
      '3:7 rule r: expression: No such key',
    ],
    ['- id: r\n  conditions:\n    - { type: cel, expression: "action.stakes" }', 'the answer is string, expected bool'],
    ['- id: r\n  conditions:\n    - { type: temporal, field: category, value: x }', 'counting needs field, value'],
    ['- id: r\n  conditions:\n    - { type: temporal, weekdays: [moon] }', 'did you mean mon?'],
    ['- id: r\n  conditions:\n    - { type: temporal, weekdays: [mon], timezone: Mars }', 'an IANA time zone'],
    ['- id: r\n  conditions:\n    - { type: temporal, between: ["25:00", "07:00"] }', 'a time of day'],
    [
      '- id: r\n  conditions:\n    - { type: temporal, field: stakes, value: huge, window_hours: 1, max_occurrences: 1 }',
      'stakes is one of low',
    ],
    ['- id: r\n  conditions:\n    - { type: compound, operator: not, conditions: [] }', 'at least one condition'],
    ['- id: r\n  conditions:\n    - { type: semantic, threshold: 2 }', '3:25 threshold: expected'],
    ['- id: r\n  conditions:\n    - { type: semantic, threshold: high }', '3:25 threshold: expected number or auto'],
    [
      '- id: r\n  conditions:\n    - { type: aggregate, metric: brier, operator: ">", value: 20 }',
      'brier is between 0 and 1',
    ],
    ['a: &a [x]\nb: &b [*a, *a]', 'unknown key a'],
  ])('%j', (text, wanted) => {
    expect(errorsOf(text).join('\n')).toContain(wanted)
  })

  test('nesting and aliases without end are errors, not crashes', () => {
    const deep = (levels: number) =>
      `- id: r\n  conditions: ${'[{type: compound, operator: and, conditions: '.repeat(levels)}[{type: cel, expression: "true"}]${'}]'.repeat(levels)}`
    expect(errorsOf(deep(15))).toEqual([])
    expect(errorsOf(deep(16)).join()).toContain('nested more than 16 deep')
    for (const levels of [300, 3_000, 30_000]) expect(errorsOf(deep(levels)).length).toBeGreaterThan(0)
    const bomb = ['a: &a0 [x]', ...Array.from({ length: 30 }, (_, at) => `b${at}: &a${at + 1} [*a${at}, *a${at}]`)]
    expect(errorsOf(bomb.join('\n')).length).toBeGreaterThan(0)
  })

  test('ids and breakers are unique over all files; templates must exist', async () => {
    const { set, errors } = await buildPolicy(
      [
        { name: '/etc/rules/a.yaml', text: '- { id: r, condition_x: 1 }' },
        {
          name: 'b.yaml',
          text: 'guardrails:\n  - { id: s, condition_x: 1 }\n  - { id: r, condition_x: 2 }\ntemplate: [x, ../y]',
        },
        {
          name: 'c.yaml',
          text: 'circuit_breakers:\n  - &b { scope: global, failure_threshold: 1, window_ms: 1, cooldown_ms: 1 }\n  - *b',
        },
      ],
      async () => null,
    )
    expect(set).toBeNull()
    expect(errors.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`)).toEqual([
      'b.yaml:3:5 the rule r is already declared in a.yaml:1',
      'b.yaml:4:1 there is no template x',
      'b.yaml:4:1 there is no template ../y',
      'c.yaml:3:5 the circuit breaker global is already declared in c.yaml:2',
    ])
  })
})

describe('policy hash', () => {
  const hash = async (...texts: string[]) =>
    (
      await buildPolicy(
        texts.map((text, at) => ({ name: `${at}.yaml`, text })),
        async () => null,
      )
    ).set!.hash

  test('names what the rules say, not how or where they are written', async () => {
    const flat = '- { id: r, scope: a, condition_x: "> 1" }\n- { id: s, condition_y: 1 }'
    const long = `
guardrails:
  - { id: s, action: block, conditions: [{ type: field, field: y, operator: "=", value: 1 }] }
  - conditions: [{ value: 1, operator: ">", field: x, type: field, when_missing: match }]
    scope: [a]
    id: r
`
    expect(await hash(long)).toBe(await hash(flat))
    expect(await hash('- { id: s, condition_y: 1 }', '\n\n- { id: r, scope: a, condition_x: "> 1" }')).toBe(
      await hash(flat),
    )
    expect(await hash(flat.replace('> 1', '> 2'))).not.toBe(await hash(flat))
    expect(await hash('')).toMatch(/^[0-9a-f]{64}$/)
  })
})
