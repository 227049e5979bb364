/** The paths and declarations in code spans of the pages for contributors exist. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './support/process.ts'

/** Paths of this repository in code spans, up to the first part that a reader fills in. */
const pathsIn = (page: string): string[] =>
  [...page.matchAll(/`((?:src|sdk|test|docs|guardrails|\.changeset)\/[^`\s]*)`/g)].map(([, path]) =>
    path!.replace(/[^/]*[<*].*$/, ''),
  )

/** Made by a command, and in no clone. */
const made = ['docs/api', 'dist']

describe.each([
  'docs/contributing.md',
  'docs/design/architecture.md',
  'docs/design/request.md',
  'docs/design/evidence.md',
])('%s', (page) => {
  test('names files and folders that exist', async () => {
    const named = pathsIn(await readFile(join(root, page), 'utf8')).filter((path) => !made.includes(path))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

test.each([
  ['src/calls/method.ts', 'export const toolNames'],
  ['src/calls/method.ts', 'export const defineMethod'],
  ['sdk/errors.ts', 'export const codes'],
  ['sdk/errors.ts', 'export const meanings'],
  ['sdk/schema/condition.ts', 'export const Condition'],
  ['src/domain/policy/rules/action.ts', 'class EvaluationError'],
])('%s has %s, as the checklists say', async (path, declaration) => {
  expect(await readFile(join(root, path), 'utf8')).toContain(declaration)
})

test('a path that is gone is found', () => {
  const page = '`src/calls/method.ts` `src/gone.ts` `src/methods/<name>.ts` `sdk/` `npx bun test test/x`'
  expect(pathsIn(page)).toEqual(['src/calls/method.ts', 'src/gone.ts', 'src/methods/', 'sdk/'])
})
