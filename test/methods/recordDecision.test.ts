/** cstp.recordDecision: what it requires, keeps, derives and refuses, on every store. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text that must not be taken for a variable

import { expect, test } from 'bun:test'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('text comes back as it went in', async () => {
    const { call, record } = await open()
    const texts = [
      ...[
        '---\n- a: b',
        '"quoted"',
        "it's",
        '# comment',
        '&a *a !!str',
        'yes',
        'null',
        '~',
        '1e3',
        '0x1f',
        '2026-07-01',
      ],
      ...[
        ' lead',
        'trail ',
        'tab\tbed',
        'a\r\nb',
        ' \n',
        '\n\n\n',
        'NUL \0 here',
        '\u0085\u2028\u2029\ufeff',
        '😀 數 é e\u0301',
      ],
      ...['\uffff\ufffe', '\x1b[31m', '${HOME}', '%TAG ! x', '- - -', '? key', '|', '>-', '{a: [b', 'x'.repeat(9_000)],
    ]
    for (const text of texts) {
      const given = { decision: `a${text}`, context: text, pattern: text, reasons: [{ type: 'a', text, strength: 1 }] }
      expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
    }
    const given = { alternatives_considered: texts.map((text) => ({ option: text, [`k${text}`.slice(0, 900)]: text })) }
    expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
  })

  test('at the limits it is taken', async () => {
    const { call, record } = await open()
    const given = {
      decision: 'x'.repeat(10_000),
      context: 'y'.repeat(100_000),
      category: 'c'.repeat(64),
      confidence: 0,
      tags: Array.from({ length: 50 }, (_, index) => `t${index}`),
      reasons: Array(100).fill({ type: 'r'.repeat(64), text: 'z', strength: 1 }),
      alternatives_considered: Array(50).fill('a'),
      review_in: '9999m',
    }
    expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
  })

  test('100 at once are 100', async () => {
    const { record, store } = await open()
    const ids = await Promise.all(Array.from({ length: 100 }, (_, index) => record({ decision: `Number ${index}` })))
    expect(new Set(ids).size).toBe(100)
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(100)
  })
})
