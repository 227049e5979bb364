/** A dossier in Markdown: every part, each line with its proof, and nothing that others wrote acts. */
import { beforeAll, expect, test } from 'bun:test'
import { marked } from 'marked'
import type { Dossier } from '../../sdk/schema/dossier.ts'
import { dossierMarkdown } from '../../src/cli/dossier-markdown.ts'
import { decidedDossier } from '../support/evidence/dossiers.ts'
import * as fc from '../support/property.ts'

let dossier: Dossier
beforeAll(async () => {
  dossier = await decidedDossier()
})

test('the parts of a dossier in Markdown, with the place of each line that an act names', () => {
  const text = dossierMarkdown(dossier)
  expect([...text.matchAll(/^## .*$/gm)].map(([line]) => line)).toEqual([
    ...['## Decision', '## Verdict', '## What happened', '## Evidence', '## Score and links', '## What this rests on'],
  ])
  const entry = dossier.receipts.find(({ kind }) => kind === 'review')!.index
  expect(text).toContain(`| reviewDecision | bob |  | ledger, entry ${entry} |`)
  expect(text).toContain('granted, and used, by carol')
  const event = dossier.receipts.find(({ record_id }) => record_id === 'evidence/2')!.index
  expect(text).toContain(
    `| pr_merged (of its pull request) | 2026-07-01T13:00:00Z | github | observed | ledger, entry ${event} |`,
  )
  expect(text).toContain('(0.9 − 1)² = 0.0100')
  for (const claim of dossier.claims) expect(text).toContain(claim)
  expect(text).toContain(dossier.verifier_key)
})

test('what is withheld or not there is said', () => {
  const bare = {
    ...dossier,
    trail: [],
    approvals: [],
    evidence: [],
    score: null,
    withheld: ['trail', 'approvals'] as never,
  }
  const text = dossierMarkdown({ ...bare, decision: { ...dossier.decision, outcome: null } })
  for (const said of [
    'left out: the reader may not see them',
    'were left out',
    'No event is linked',
    'It enters no score',
  ])
    expect(text).toContain(said)
  const unjudged = dossierMarkdown({ ...dossier, decision: { ...dossier.decision, verdict: null } })
  expect(unjudged).toContain('recorded without an evaluation of rules')
})

test('no text of others becomes markup, a link or another row', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom(
          'a | b\n| c | d |',
          '[x](https://evil.test)',
          '<script>x</script>',
          '# T',
          '`x',
          '\u202eb',
          '![i](x)',
        ),
      ),
      (given) => {
        const decision = {
          ...dossier.decision,
          decision: given,
          lessons: given,
          reasons: [{ type: given, text: given, strength: 1 }],
        }
        const html = marked.parse(dossierMarkdown({ ...dossier, decision }), { async: false })
        expect(html).not.toMatch(/<(?:a|img|script|em|strong>[^<]*<\/strong>[^:])/)
        expect(html.match(/<h[12]/g)!.length).toBe(7)
        expect(html.match(/<table>/g)!.length).toBe(6)
      },
    ),
  )
})
