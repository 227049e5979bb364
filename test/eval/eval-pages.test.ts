/** Figures are put into their place in a page, and nowhere else. */
import { expect, test } from 'bun:test'
import { withPart } from './pages.ts'

const page =
  'Above\n\n<!-- eval:one -->\n<!-- /eval -->\n\nBetween\n\n<!-- eval:two -->\nold\n<!-- /eval -->\n\nBelow\n'

test('the part of a name is replaced, and a second time alike', () => {
  const once = withPart(page, 'two', 'new\n')
  expect(once).toBe(page.replace('old\n', '\nnew\n\n'))
  expect(withPart(once, 'two', 'new')).toBe(once)
  expect(withPart(page, 'one', 'x')).toBe(page.replace('<!-- eval:one -->\n', '<!-- eval:one -->\n\nx\n\n'))
})

test('a page without the part is an error', () => {
  expect(() => withPart(page, 'three', 'x')).toThrow('no part three')
  expect(() => withPart('<!-- eval:one -->\nx', 'one', 'x')).toThrow('no part one')
})
