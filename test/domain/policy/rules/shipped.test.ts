/** The shipped rules and templates: they load, nothing in them is suspicious, and their tables hold. */
import { describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { lintRules } from '../../../../src/domain/policy/rules/lint.ts'
import { parseTable, runTable } from '../../../../src/domain/policy/rules/table.ts'
import { readPolicy, shipped, shippedRules, shippedTemplates } from '../../../../src/policy/files.ts'
import { testStart } from '../../../support/record.ts'

const root = join(import.meta.dir, '../../../../guardrails')
const templates = (await readdir(join(root, 'templates')))
  .filter((name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml'))
  .map((name) => basename(name, '.yaml'))

describe.each(['default', ...templates.map((name) => `templates/${name}`)])('%s', (name) => {
  test('its table holds and fires every rule', async () => {
    const { set, errors } = await readPolicy([join(root, `${name}.yaml`)])
    expect(errors).toEqual([])
    expect(lintRules(set!.rules.map(({ rule }) => rule))).toEqual([])
    const { table, errors: wrong } = parseTable(await readFile(join(root, `${name}.test.yaml`), 'utf8'), name)
    expect(wrong).toEqual([])
    const results = await runTable(table!, set!.rules, testStart)
    expect(results.filter(({ problem }) => problem !== null)).toEqual([])
    const fired = new Set(results.flatMap((one) => one.fired))
    expect(set!.rules.map(({ rule }) => rule.id).filter((id) => !fired.has(id))).toEqual([])
  })

  test('it names its schema for editors', async () => {
    const up = name.includes('/') ? '../..' : '..'
    expect(await readFile(join(root, `${name}.yaml`), 'utf8')).toStartWith(
      `# yaml-language-server: $schema=${up}/docs/reference/guardrails.schema.json\n`,
    )
  })
})

test('the program holds what the folder holds', async () => {
  expect(shippedRules[0]!.text).toBe(await readFile(join(root, 'default.yaml'), 'utf8'))
  expect(Object.keys(shippedTemplates).sort()).toEqual(templates.sort())
  const { set } = await readPolicy([shipped])
  expect(set!.hash).toBe((await readPolicy([root])).set!.hash)
  expect(set!.breakers.length).toBeGreaterThan(0)
})

test('all templates load beside the defaults', async () => {
  const both = await readPolicy([root, join(root, 'templates')])
  expect(both.errors).toEqual([])
})
