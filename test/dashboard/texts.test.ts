/** Every visible word of the dashboard is in its folder of texts, where another language can replace it. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Glob } from 'bun'
import ts from 'typescript'
import { root } from '../support/process.ts'

const folder = join(root, 'src/dashboard')
/** Attributes that no reader sees. */
const unseen = new Set([
  'class',
  'd',
  'key',
  'href',
  'type',
  'viewBox',
  'id',
  'transform',
  'patternTransform',
  'points',
  'role',
  'tabIndex',
])
/** Attributes that a reader sees, or hears, however short the text. */
const seen = new Set(['title', 'label', 'lead', 'caption', 'placeholder', 'aria-label', 'unit', 'note', 'alt', 'mark'])

const hasWord = (text: string): boolean => /\p{L}{2}/u.test(text)
/** Two words, or one that begins like a sentence or a heading. */
const isSentence = (text: string): boolean =>
  /\p{L}[\p{L}’']*[,.:;]? \p{L}/u.test(text) || /^\p{Lu}\p{Ll}+[.:…]?$/u.test(text.trim())

/** Keys of the keyboard, names of the web and methods of HTTP need no translation. */
const names =
  /^(?:Escape|Enter|Tab|Home|End|Arrow(?:Up|Down|Left|Right)|Content-Type|PATCH|POST|DELETE|GET|SHA-256|cstp)$/

/** Selectors, scopes and names of terms need no translation. */
const isSelector = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) &&
  ts.isCallExpression(node.parent) &&
  /(?:querySelector(?:All)?|closest|matches|includes|term|may)$/.test(node.parent.expression.getText())

function* textsIn(file: ts.SourceFile): Generator<{ line: number; text: string }> {
  const at = (node: ts.Node, text: string) => ({
    line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1,
    text: text.trim(),
  })
  const attributeOf = (node: ts.Node): string | null => {
    for (
      let above: ts.Node = node.parent;
      above && !ts.isJsxElement(above) && !ts.isFunctionLike(above);
      above = above.parent
    )
      if (ts.isJsxAttribute(above)) return above.name.getText(file)
    return null
  }
  function* walk(node: ts.Node): Generator<{ line: number; text: string }> {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node) || isSelector(node)) return
    if (ts.isJsxText(node) && hasWord(node.text) && !names.test(node.text.trim())) yield at(node, node.text)
    const text =
      ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)
        ? node.text
        : null
    if (text !== null && !names.test(text)) {
      const attribute = attributeOf(node)
      const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node
      const isCompared = ts.isBinaryExpression(node.parent) && /[!=]==/.test(node.parent.operatorToken.getText(file))
      if (!isName && !isCompared && !(attribute !== null && unseen.has(attribute)))
        if (attribute !== null && seen.has(attribute) ? hasWord(text) : isSentence(text)) yield at(node, text)
    }
    for (const child of node.getChildren(file)) yield* walk(child)
  }
  yield* walk(file)
}

test('no page, part or chart has a text of its own', async () => {
  const found: string[] = []
  for await (const path of new Glob('**/*.{ts,tsx}').scan(folder)) {
    if (/^texts/.test(path) || path.endsWith('.d.ts')) continue
    const text = await Bun.file(join(folder, path)).text()
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX)
    for (const one of textsIn(file)) found.push(`${path}:${one.line} ${one.text}`)
  }
  expect(found).toEqual([])
})
