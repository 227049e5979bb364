/** The report for people: characters that can't be printed are shown, ranges stay short, and every control has its place. */
import { expect, test } from 'bun:test'
import { openPrinter } from '../../../../src/app/printer.ts'
import type { Bundle } from '../../../../src/domain/ledger/evidence/bundle.ts'
import { mapEvidence } from '../../../../src/domain/ledger/evidence/controls.ts'
import { reportDocument } from '../../../../src/domain/ledger/evidence/report/report.ts'
import { standing } from '../../../../src/domain/ledger/evidence/report/sections.ts'
import { openRanges, tallies } from '../../../../src/domain/ledger/evidence/report/tallies.ts'
import { openWriter } from '../../../../src/domain/ledger/evidence/report/text.ts'
import { loadControls } from '../../../../src/policy/files.ts'
import { chainOf, event, link, story } from '../../../support/evidence/events.ts'
import * as fc from '../../../support/property.ts'

const printer = (await openPrinter())!
const controls = loadControls()

/** A bundle of two events. */
const bundleOf = (mapped: Bundle['mapped']): Bundle => ({
  ...{ bundle_id: 'id', generated_at: '2026-07-02T00:00:00.000Z', service_version: '1', policy_hash: 'p'.repeat(64) },
  verifier_key: `log+00000000+${'k'.repeat(44)}`,
  head: { size: 2, head_hash: 'a'.repeat(64), root_hash: 'b'.repeat(64), note: 'log\n2\nroot\n\n— log signature\n' },
  mapped,
  decisions: [{ id: 'd', sha256: null, content_sha256: null, linked: [] }],
})

async function mappedOf(events: Parameters<typeof chainOf>[0]) {
  const evidence = await chainOf(events)
  return { evidence, mapped: await mapEvidence(evidence, controls, events.length, async () => {}) }
}

test.each([
  ['Zoë Ζωή Жук', 'Zoë Ζωή Жук'],
  ['中文 x', '[U+4E2D U+6587] x'],
  ['a\u202eb\u0000', 'a[U+202E]b[U+0000]'],
  ['🙂', '[U+1F642]'],
  ['a\n\tb', 'a b'],
  ['\ud800', '[U+FFFD]'],
])('%j is printed as %j', (given, printed) => {
  const { text } = openWriter(printer)
  expect(text(given).replace('\ufffd', '[U+FFFD]')).toBe(printed)
})

test('nothing that the fonts lack is left in a text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (given) => {
      for (const char of openWriter(printer).text(given)) expect(printer.covers(char.codePointAt(0)!)).toBe(true)
    }),
  )
})

test('ranges are counted and cut', () => {
  const ranges = openRanges()
  for (const seq of [1, 2, 3, 3, 7, 9, 10]) ranges.add(seq)
  expect([ranges.count(), ranges.text()]).toEqual([6, '1–3, 7, 9–10'])
  const many = openRanges()
  for (let seq = 1; seq <= 200; seq += 2) many.add(seq)
  expect(many.count()).toBe(100)
  expect(many.text()).toEndWith('45, 47 and 76 more')
})

test('the report has every control of the rules, by the evidence that supports it', async () => {
  const { mapped } = await mappedOf([...story(1), event('pr_merged'), link('d', [1], { has_outcome: true })])
  const { controls: all } = tallies(mapped, controls)
  const ids = controls.sets.flatMap(({ rules }) => rules.map(({ function_id }) => function_id))
  expect(all.map(({ function_id }) => function_id)).toEqual([...new Set(ids)])
  const words = Object.fromEntries(all.map((one) => [one.function_id, standing(one)]))
  expect(words).toMatchObject({
    'MV-3': 'Observed',
    'CM-1': 'Observed, with gaps',
    'GV-2': 'Attested only',
    'OA-1': 'Attested only',
    'CM-2': 'No evidence',
  })
})

test('the tallies equal the counts of the mapping', async () => {
  const events = Array.from({ length: 40 }, (_, at) => story(at)).flat()
  const { mapped } = await mappedOf([...events, event('other'), link('d', [1])])
  const { controls: all, reasons, types } = tallies(mapped, controls)
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)
  expect(sum(all.map(({ insufficient }) => insufficient))).toBe(mapped.insufficient_evidence_count)
  expect(sum(reasons.map(({ events: seqs }) => seqs.count()))).toBe(mapped.insufficient_evidence_count)
  const { observed, attested } = mapped.coverage
  expect(sum(types.map(({ total }) => total))).toBe(observed.total_events + attested.total_events)
  expect(sum(types.map(({ unmapped }) => unmapped.count()))).toBe(observed.unmapped_events + attested.unmapped_events)
})

test('events that did not arrive in the order of their times are no period that ends before it begins', async () => {
  const { evidence, mapped } = await mappedOf([
    event('pr_opened', { pr_number: 1 }, { ts: '2026-07-01T10:00:00Z' }),
    event('pr_merged', { pr_number: 2 }, { ts: '2026-03-01T10:00:00Z' }),
  ])
  const whole = JSON.stringify(await reportDocument(bundleOf(mapped), { evidence, controls }, printer, null))
  expect(whole).toContain('event 1: 2026-07-01T10:00:00Z; event 2: 2026-03-01T10:00:00Z')
  expect(whole).not.toContain('from 2026-07-01')
})

test('the document says what it can’t print, and shows hashes, key and note whole', async () => {
  const { evidence, mapped } = await mappedOf([event('pr_opened', { pr_number: 1, title: '中文' }), link('d', [1])])
  const bundle = bundleOf(mapped)
  const text = async (from: Bundle) => JSON.stringify(await reportDocument(from, { evidence, controls }, printer, null))
  const whole = await text(bundle)
  const { verifier_key, head, policy_hash } = bundle
  for (const part of [verifier_key, head.head_hash, head.root_hash, policy_hash, '— log signature', '[U+4E2D U+6587]'])
    expect(whole).toContain(part)
  for (const part of [
    'Attested only',
    'no longer in the store',
    'SR 26-2',
    'shown by their Unicode numbers',
    'cstp verify',
  ])
    expect(whole).toContain(part)
})
