/** The guide's rules load, nothing in them is suspicious, and its table holds on all of them together. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lintRules } from '../../../../src/domain/policy/rules/lint.ts'
import { buildPolicy } from '../../../../src/domain/policy/rules/set.ts'
import { parseTable, runTable } from '../../../../src/domain/policy/rules/table.ts'

const text = await readFile(join(import.meta.dir, '../../../../docs/guide/guardrails.md'), 'utf8')
const blocks = (kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`yaml ${kind}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map((match) => match[1]!)

test('every example of the guide works', async () => {
  const files = blocks('rules').map((block, at) => ({ name: `block ${at + 1}`, text: block }))
  expect(files.length).toBeGreaterThan(4)
  const { set, errors } = await buildPolicy(files, async () => null)
  expect(errors).toEqual([])
  expect(lintRules(set!.rules.map(({ rule }) => rule))).toEqual([])
  const [block, ...rest] = blocks('tests')
  expect(rest).toEqual([])
  const { table, errors: wrong } = parseTable(block!, 'table')
  expect(wrong).toEqual([])
  const results = await runTable(table!, set!.rules, Date.parse('2026-07-01T12:00:00Z'))
  expect(results.filter(({ problem }) => problem !== null)).toEqual([])
  const fired = new Set(results.flatMap((one) => one.fired))
  expect(set!.rules.map(({ rule }) => rule.id).filter((id) => !fired.has(id))).toEqual([])
})
