/** The threat model keeps step with the tests: each attack names one that exists. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const page = readFileSync(join(root, 'docs/design/threats.md'), 'utf8')
const section = page.split('\n## Attacks and mechanisms\n')[1]?.split('\n## ')[0] ?? ''
const rows = section
  .split('\n')
  .filter((line) => /^\|(?! -)/.test(line))
  .slice(1)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, , mechanism]) => mechanism !== '')

test('each attack names the test that shows it to fail', () => {
  expect(rows.length).toBeGreaterThan(30)
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
