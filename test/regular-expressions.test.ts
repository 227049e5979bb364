/** Expressions read what callers send, so each of them must take time linear in the text: one that backtracks over a long run stops the server for everybody. */
import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'
import { blockIn, withParagraph } from '../src/app/init/edits.ts'
import { stated } from '../src/cli/adr/decision.ts'
import { certainSecret, maskSecrets, redact } from '../src/core/secrets.ts'
import { groupsIn } from '../src/domain/policy/rules/fact-names.ts'
import { instructionLike } from '../src/domain/record/decision/bridge.ts'

const root = join(import.meta.dir, '..')
const length = 262_144
const characters = [' ', '\n', '\t', 'a', '0', '_', '-', '/', ':', '"']
const texts = characters.map((character) => `x${character.repeat(length)}x`)
/** Linear expressions take 1 to 40 ms of these texts, quadratic ones tens of seconds. */
const limitMs = 50
const attempts = 4

interface Expression {
  place: string
  expression: RegExp
}
const made: string[] = []

/** The literals in a file of TypeScript or JavaScript; places where expressions are made of parts are noted. */
function literalsIn(path: string, text: string): Expression[] {
  const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind)
  const found: Expression[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1
      const flags = node.text.slice(end + 1).replace(/[gy]/g, '')
      found.push({ place: `${path}:${line}`, expression: new RegExp(node.text.slice(1, end), `${flags}g`) })
    }
    const isCall = ts.isNewExpression(node) || ts.isCallExpression(node)
    if (isCall && node.expression.getText() === 'RegExp')
      made.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const literals = await Promise.all(
  ['src', 'sdk', 'plugin'].map(async (folder) => {
    const files = (await readdir(join(root, folder), { recursive: true })).filter(
      (file) => /\.(?:tsx?|m?js)$/.test(file) && !/(?:^|\/)(?:dist|node_modules)\//.test(file),
    )
    return Promise.all(
      files.map(async (file) => literalsIn(join(folder, file), await Bun.file(join(root, folder, file)).text())),
    )
  }),
).then((lists) => lists.flat(2))

/** The shortest of several attempts, by the clock or by the processor, since other programs may interrupt one. */
function shortestMs(run: () => void): number {
  let shortest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && shortest > limitMs; attempt++) {
    const [start, used] = [performance.now(), process.cpuUsage()]
    run()
    shortest = Math.min(shortest, performance.now() - start, process.cpuUsage(used).user / 1_000)
  }
  return shortest
}

const slow = (expressions: readonly Expression[]): string[] =>
  expressions.flatMap(({ place, expression }) =>
    texts.some((text) => shortestMs(() => text.replace(expression, '')) > limitMs)
      ? [`${place} ${expression.source}`]
      : [],
  )

test('every regular expression of the program reads 256 KB of any character in 50 ms', () => {
  expect(literals.length).toBeGreaterThan(400)
  expect(slow(literals)).toEqual([])
})

/** Where expressions are made in a call: of text of ours only, or tried below with text of others. */
const inCalls: Record<string, string> = {
  'src/cli/reindex.ts': 'the metrics of the service',
  'src/cli/adr/decision.ts': 'tried below',
  'src/build/main.ts': 'names of modules',
  'src/domain/policy/rules/fact-names.ts': 'tried below',
}

test('so does every expression that is made of parts', async () => {
  const files = [...new Set(made.map((place) => place.slice(0, place.lastIndexOf(':'))))]
  expect(Object.keys(inCalls).filter((file) => !files.includes(file))).toEqual([])
  const loaded = files.filter((file) => !inCalls[file])
  const script = join(root, 'test/support/made-expressions.ts')
  const child = Bun.spawn([process.execPath, script, ...loaded], { cwd: root, stdout: 'pipe', stderr: 'inherit' })
  const found: { place: string; source: string; flags: string }[] = JSON.parse(await new Response(child.stdout).text())
  const unmade = made.filter((place) => !inCalls[place.slice(0, place.lastIndexOf(':'))])
  expect(unmade.filter((place) => !found.some((one) => one.place === place))).toEqual([])
  expect(found.length).toBeGreaterThan(100)
  expect(
    slow(
      found.map(({ place, source, flags }) => ({
        place,
        expression: new RegExp(source, `${flags.replace(/[gy]/g, '')}g`),
      })),
    ),
  ).toEqual([])
})

test('marks of ours that are opened a thousand times and never closed, in a page or settings of a repository', () => {
  const marks = ['<!-- cstp: begin -->\n', '# cstp: begin\n'].map((mark) => mark.repeat(length / mark.length))
  for (const text of marks)
    expect(shortestMs(() => [withParagraph(text, null), blockIn(text)])).toBeLessThan(10 * limitMs)
})

test('an expression that backtracks over each start of a run is found', () => {
  const text = `x${' '.repeat(32_768)}x`
  expect(shortestMs(() => text.replace(/\s+$/g, ''))).toBeGreaterThan(limitMs)
})

test.each([
  ['masking of secrets', (text: string) => maskSecrets(text)],
  ['the search for certain secrets', (text: string) => certainSecret(text)],
  ['the redacted copy', (text: string) => redact({ text })],
  ['the chosen option of a decision record', (text: string) => stated(`Chosen option: ${text}`, [text, 'x y'])],
  ['the facts that an expression names', (text: string) => groupsIn(`action${text}`)],
  ['the search for instructions to a model', (text: string) => instructionLike([text])],
])('%s takes time linear in the text', (_name, read) => {
  const slowest = Math.max(...texts.map((text) => shortestMs(() => read(text))))
  expect(slowest).toBeLessThan(10 * limitMs)
})
