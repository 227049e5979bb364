/** The threat model keeps step with the tests: each attack, and each requirement, names one that exists or says why there is none. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const page = readFileSync(join(root, 'docs/design/threats.md'), 'utf8')
const rowsOf = (heading: string) =>
  (page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => /^\|(?! -)/.test(line))
    .slice(1)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, , mechanism, tests]) => mechanism !== '' || tests !== '')

test.each([
  ['Attacks and mechanisms', 30],
  ["Rows of AARM's conformance tests", 10],
] as const)('each line of "%s" names the test that shows it', (heading, least) => {
  const rows = rowsOf(heading)
  expect(rows.length).toBeGreaterThan(least)
  const named = rows.flatMap(([, attack, , tests = '']) => {
    const found = [...tests.matchAll(/`(test\/[^`]+)`((?: "[^"]+",?)+)/g)]
    return found.length === 0
      ? [{ attack, path: 'none', title: tests }]
      : found.flatMap(([, path = '', titles = '']) =>
          [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ attack, path, title })),
        )
  })
  expect(
    named.filter(({ path, title }) => {
      if (path === 'none') return !title.startsWith('open: ')
      const file = join(root, path)
      return !existsSync(file) || !readFileSync(file, 'utf8').includes(title)
    }),
  ).toEqual([])
})
