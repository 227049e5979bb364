/** The tests themselves: names are unique, no limit of time is too low, and no expectation on a promise is forgotten. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import ts from 'typescript'

const files = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
const suites = files.filter((path) => path.endsWith('.test.ts'))

test('no two suites have the same name', () => {
  const names = suites.map((path) => basename(path))
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

test('no suite has a limit of time below that of all tests: on a slow machine it would be the only one that fails', async () => {
  const { scripts } = await Bun.file(join(import.meta.dir, '../package.json')).json()
  const least = Number(/--timeout (\d+)/.exec(scripts.test)![1])
  const limits = suites.flatMap((path) => {
    const text = readFileSync(join(import.meta.dir, path), 'utf8')
    return [...text.matchAll(/(?:setDefaultTimeout\(|^ *\}, |^ +)(\d{2,}_000)(?=\)$|,\n *\)$)/gm)].map(([, limit]) => ({
      path,
      ms: Number(limit!.replaceAll('_', '')),
    }))
  })
  expect(limits.length).toBeGreaterThan(0)
  expect(limits.filter(({ ms }) => ms < least)).toEqual([])
})

/** Statements that are an `expect(…).rejects` or `.resolves` by themselves: nothing waits for them. */
function forgotten(path: string, text: string): string[] {
  if (!/\.(?:rejects|resolves)\b/.test(text)) return []
  const found: string[] = []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false)
  const promises = (node: ts.Expression): boolean =>
    ts.isCallExpression(node)
      ? promises(node.expression)
      : ts.isPropertyAccessExpression(node) &&
        (/^(?:rejects|resolves)$/.test(node.name.text) || promises(node.expression))
  const look = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && promises(node.expression))
      found.push(`${path}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`)
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}

test('every expectation on a promise is awaited', () => {
  expect(files.flatMap((path) => forgotten(path, readFileSync(join(import.meta.dir, path), 'utf8')))).toEqual([])
  expect(forgotten('a', 'await expect(a).rejects.toThrow()\nexpect(\n  b,\n).rejects.toThrow()')).toEqual(['a:2'])
})

test('property tests take fast-check from the shared helper, so that CSTP_RUNS multiplies their runs', () => {
  const direct = files.filter((path) => /from '(?:fast-check)'/.test(readFileSync(join(import.meta.dir, path), 'utf8')))
  expect(direct).toEqual(['support/property.ts'])
})
