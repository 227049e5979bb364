/** Passages: whole sentences, in order, bounded in length and number, whatever the text. */

import { expect, test } from 'bun:test'
import { maxRead, passagesOf } from '../../../src/domain/search/searched.ts'
import * as fc from '../../support/property.ts'

const sentence = (name: string): string => `${'word '.repeat(19)}${name}.`

test('a passage ends with the sentence that reaches 450 characters, or with the text', () => {
  const sentences = Array.from({ length: 12 }, (_, at) => sentence(`end${at}`))
  expect(passagesOf(sentences.join(' '))).toEqual([
    sentences.slice(0, 5).join(' '),
    sentences.slice(5, 10).join(' '),
    sentences.slice(10).join(' '),
  ])
  expect(passagesOf(' One. Two.\n')).toEqual(['One. Two.'])
  for (const none of ['', ' ', '\n\n']) expect(passagesOf(none)).toEqual([])
})

test('lines end a passage where nothing else does, and a text without ends is cut', () => {
  const line = 'word '.repeat(99).trim()
  expect(passagesOf(`${line}\n${line}`)).toEqual([line, line])
  expect(passagesOf('x'.repeat(2_500)).map((one) => one.length)).toEqual([1_000, 1_000, 500])
})

const piece = fc.oneof(
  fc.constantFrom('. ', '\n', '。', '😀', 'word ', sentence('a'), ' ', '.', 'x'.repeat(700)),
  fc.string({ unit: 'binary' }),
)

test('passages are the text in its order, well-formed, at most twelve of at most 1000 characters', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('')
      const passages = passagesOf(text)
      expect(passages.length).toBeLessThanOrEqual(12)
      let from = 0
      const whole = text.toWellFormed()
      for (const one of passages) {
        expect(one.isWellFormed() && one.length > 0 && one.length <= maxRead).toBe(true)
        const at = whole.indexOf(one, from)
        expect(whole.slice(from, at).trim()).toBe('')
        from = at + one.length
      }
      if (passages.length < 12) expect(whole.slice(from).trim()).toBe('')
    }),
  )
})

test('hostile texts are taken in linear time', () => {
  for (const text of ['.'.repeat(1e6), '\n'.repeat(1e6), 'x'.repeat(1e6), '. '.repeat(5e5), '😀'.repeat(5e5)])
    expect(passagesOf(text).length).toBeLessThanOrEqual(12)
})
