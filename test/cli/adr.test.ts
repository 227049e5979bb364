/** Architecture decision records: every form is read as its authors meant it, and what is written is read back as the same decision. */
import { describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { oddRecord, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { dayOf, readAdr, stated } from '../../src/cli/adr/decision.ts'
import { lineOf, readAdrFolder, statusTag } from '../../src/cli/adr/folder.ts'
import { madrOf, stateOf } from '../../src/cli/adr/write.ts'
import { importLine, sourceOf } from '../../src/cli/export-line.ts'
import { planLine } from '../../src/cli/import-lines.ts'
import { inTemporaryDir } from '../support/process.ts'
import * as fc from '../support/property.ts'

const madr = `---
status: accepted
date: 2026-03-04
decision-makers: [Ada, Grace]
---
# Keep sessions in Redis

## Context and Problem Statement

Two servers share no memory.

## Decision Drivers

* A restart must not log people out
* Few moving parts

## Considered Options

* Redis, as a "session store"
* Sticky sessions
* Signed cookies

## Decision Outcome

Chosen option: "Redis, as a "session store"", because it survives a restart.

### Consequences

* Good, because servers can be replaced
* Bad, because there is one more service

## Pros and Cons of the Options

### Sticky sessions

* Bad, because a restart loses them
`
const nygard = `# 7. Write to one region

Date: 2024-11-05

## Status

Superseded by [9. Write to two regions](0009-write-to-two-regions.md)

Amends [2. Replicate](0002-replicate.md)

## Context

Latency matters less than order.

## Decision

We will write to one region.

\`\`\`sh
# no heading
\`\`\`

## Consequences

A region may be lost.
`
const log4brains = `# Use Lunr

- Status: accepted
- Deciders: Ada
- Date: 2020-11-03
- Tags: search, web

Technical Story: search in the browser

## Considered Options

- Option 1: Fuse.js
- Option 2: Lunr.js

## Decision Outcome

Chosen option: "Option 2: Lunr.js", because Fuse.js was tried:

- it is slow

## Links

- Supersedes [20200101-grep](20200101-grep.md)
`

describe('a record in the form of', () => {
  test('MADR', () => {
    expect(readAdr(madr)).toMatchObject({
      title: 'Keep sessions in Redis',
      status: 'accepted',
      date: '2026-03-04',
      people: ['Ada', 'Grace'],
      chosen: 'Redis, as a "session store"',
      reasons: [
        { type: 'rationale', text: 'it survives a restart.' },
        { type: 'driver', text: 'A restart must not log people out' },
        { type: 'driver', text: 'Few moving parts' },
      ],
      alternatives: [{ option: 'Sticky sessions', reason: '* Bad, because a restart loses them' }, 'Signed cookies'],
      context:
        'Two servers share no memory.\n\n### Consequences\n\n* Good, because servers can be replaced\n* Bad, because there is one more service',
    })
    expect(readAdr(madr)?.decision).toStartWith('Keep sessions in Redis\n\nChosen option: "Redis')
  })

  test('Nygard', () => {
    expect(readAdr(nygard)).toMatchObject({
      title: 'Write to one region',
      status: 'Superseded by 9. Write to two regions Amends 2. Replicate',
      date: '2024-11-05',
      chosen: null,
      alternatives: [],
      decision: 'Write to one region\n\nWe will write to one region.\n\n```sh\n# no heading\n```',
      links: [
        { target: '0009-write-to-two-regions.md', edge_type: 'supersedes', reverse: true },
        { target: '0002-replicate.md', edge_type: 'refines', reverse: false },
      ],
    })
  })

  test('log4brains', () => {
    expect(readAdr(log4brains)).toMatchObject({
      title: 'Use Lunr',
      status: 'accepted',
      date: '2020-11-03',
      people: ['Ada'],
      tags: ['search', 'web'],
      chosen: 'Option 2: Lunr.js',
      alternatives: ['Option 1: Fuse.js'],
      context: 'Technical Story: search in the browser',
      links: [{ target: '20200101-grep.md', edge_type: 'supersedes', reverse: false }],
    })
  })

  test('others, by the names of their parts', () => {
    const text =
      '# Architecture Decision Record: CSS\n\n- [Issue](#issue)\n\n## Summary\n\n### Issue\n\nToo much CSS.\n\n### Decision\n\nBulma.\n\n### Status\n\nDecided. Open to others.\n\n## Details\n\n### Assumptions\n\nJavaScript is there.\n'
    expect(readAdr(text)).toMatchObject({
      title: 'CSS',
      decision: 'CSS\n\nBulma.',
      status: 'Decided. Open to others.',
      context: 'Too much CSS.\n\n### Details\n\n### Assumptions\n\nJavaScript is there.',
    })
  })
})

test('what is no record is none', () => {
  for (const text of [
    '',
    '# Title',
    'words',
    '## Decision\n\nNo title',
    '# {short title}\n\n## Decision\n\nx',
    '# A\n\n## Context\n\nx',
  ])
    expect([text, readAdr(text)]).toEqual([text, null])
  expect(() => readAdr('---\na: [\n---\n# T\n\n## Decision\n\nx')).toThrow('the YAML at the top')
})

test('options without the chosen one among them are not called rejected', () => {
  const found = readAdr('# T\n\n## Considered Options\n\n* a\n* b\n\n## Decision Outcome\n\nChosen option: "c".\n')
  expect(found).toMatchObject({ alternatives: [], context: '### Considered Options\n\n* a\n* b' })
})

test('dates and statuses as people write them', () => {
  expect(
    ['2024-1-5', '5 March 2021', 'March 5th, 2021', 'Accepted (2020-02-30)', 'soon', 'May 2021'].map(dayOf),
  ).toEqual(['2024-01-05', '2021-03-05', '2021-03-05', null, null, null])
  expect(['Accepted — 2026-04-24.', 'superseded by ADR-7', 'On hold', null].map(statusTag)).toEqual([
    'status:accepted',
    'status:superseded',
    'status:on hold',
    null,
  ])
})

const words = fc.stringMatching(/^[ -~\n#*`>-]{1,80}$/)
const markdown = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.oneof(
        words,
        fc.constantFrom(
          '# A',
          '## Decision',
          '## Status',
          '## Considered Options',
          '* a',
          '```',
          '---',
          '<!--',
          '[x](y.md)',
          'Superseded by 7',
        ),
      ),
    )
    .map((lines) => lines.join('\n')),
)

test('any text is read or refused, and what is read can be imported', () => {
  fc.assert(
    fc.property(markdown, (text) => {
      let found: ReturnType<typeof readAdr>
      try {
        found = readAdr(text)
      } catch (error) {
        expect((error as Error).message).toMatch(/^the YAML at the top|^its Markdown/)
        return
      }
      if (found === null) return
      const { own: _, ...adr } = found
      planLine(lineOf({ file: 'a.md', adr: { ...adr, own: {} }, source: 'adr:a', links: [] }, adr.date, null))
    }),
    { numRuns: 2_000 },
  )
})

const nobody = { sources: new Map<string, string>(), named: new Map(), supersededBy: new Map() }
/** The line that importing what was exported gives. */
function again(record: DecisionRecord): unknown {
  const text = madrOf(record, nobody)
  expect(stateOf(text)).toBe('ours')
  const adr = readAdr(text)
  if (!adr) throw new Error('not read')
  return planLine(lineOf({ file: 'a.md', adr, source: 'other', links: [] }, adr.date, 'other/project'))
}

test('what is exported is imported as the same decision', () => {
  // No tag is blank in a record that was made by a call.
  const odd = oddRecord(3)
  const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), words).filter((one) => one.trim() !== '')
  const record = fc
    .record({
      decision: text,
      context: fc.option(text),
      reasons: fc.array(
        fc.record({ type: fc.constantFrom('risk', 'driver', 'rationale'), text, strength: fc.constantFrom(0.8, 0.1) }),
        { maxLength: 3 },
      ),
      alternatives_considered: fc.array(fc.oneof(text, fc.record({ option: text, reason: text })), { maxLength: 3 }),
      tags: fc.array(fc.constantFrom('a', 'status:draft', 'b: c'), { maxLength: 2 }),
    })
    .map((values) => recordOf(1, values as Partial<DecisionRecord>))
  fc.assert(
    fc.property(record, (one) => expect(again(one)).toEqual(planLine(importLine(one, new Map())))),
    { numRuns: 500, examples: [[{ ...odd, tags: odd.tags.filter((tag) => tag.trim() !== '') }]] },
  )
})

test('a file that was edited is distinguished from one that was not, and from those of others', () => {
  const record = recordOf(1, { decision: 'Use Redis' })
  const text = madrOf(record, nobody)
  expect(text).toContain(`source: "${sourceOf(record)}"`)
  expect(['ours', 'edited', 'foreign']).toEqual([
    stateOf(text),
    stateOf(text.replace('Redis', 'Valkey')),
    stateOf(madr),
  ])
})

/** An option as people name them, with quotes of every kind around some of its words. */
const quotedOption = (() => {
  const word = fc.constantFrom(
    'Redis',
    'use',
    'sections',
    'Good, because',
    'don’t',
    "teams'",
    'a, b',
    '(fast)',
    'v2.0',
    'C++',
  )
  const quotes = fc.constantFrom(['"', '"'], ["'", "'"], ['“', '”'], ['‘', '’'], ['`', '`'], ['«', '»'], ['', ''])
  const piece = fc.tuple(quotes, word).map(([[open, close], text]) => open + text + close)
  return fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => `Option ${pieces.join(' ')} x`)
})()
const around = fc.constantFrom(
  ['"', '"'],
  ["'", "'"],
  ['“', '”'],
  ['‘', '’'],
  ['`', '`'],
  ['«', '»'],
  ['**', '**'],
  ['', ''],
)

test('the chosen option is the one of the list, whatever quotes are in its name and around it', () => {
  const lists = fc.uniqueArray(quotedOption, { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(lists, around, fc.boolean(), (options, [open, close], reasoned) => {
      const [chosen, ...others] = options
      const text = `# T\n\n## Considered Options\n\n${options.map((one) => `* ${one}`).join('\n')}\n\n## Decision Outcome\n\nChosen option: ${open}${chosen}${close}${reasoned ? ', because it is enough' : '.'}\n`
      const found = readAdr(text)
      expect([found!.chosen, found!.alternatives]).toEqual([chosen!, others])
      expect(found!.reasons).toEqual(reasoned ? [{ type: 'rationale', text: 'it is enough' }] : [])
    }),
  )
})

test('a choice in other quotes than those inside is read whole without a list', () => {
  const chosen = (said: string) => stated(`Chosen option: ${said}, because it resolves all forces.`)
  const because = 'it resolves all forces.'
  for (const name of ['Section "A" listing "Good, because" and "Bad, because"', 'the teams’ own “b”'])
    for (const said of [`'${name}'`, `«${name}»`]) expect(chosen(said)).toEqual({ chosen: name, because })
  expect(chosen('"Keep \'it\' simple"')).toEqual({ chosen: "Keep 'it' simple", because })
})

test('what a file says of scores and of other decisions is taken over only on request', () =>
  inTemporaryDir(async (dir) => {
    const links = [{ target: '2026-07-01-decision-1a2b3c4d5e6f', edge_type: 'supersedes' }]
    const scores = { confidence: 1, outcome: 'success', lessons: 'none', agent: 'mallory', stakes: 'high' }
    const own = { ...scores, source: 'PEP 241', links, project: { name: 'theirs/app' }, pr: 7 }
    await writeFile(
      join(dir, 'one.md'),
      `---\nstatus: accepted\ncstp: ${JSON.stringify(own)}\n---\n# Use one\n\n## Decision\n\nWe use one.\n`,
    )
    const read = async (given: object) => {
      const { lines, leftOut } = await readAdrFolder(dir, given)
      return { value: (lines[0] as { value: Record<string, unknown> }).value, leftOut }
    }
    const plain = await read({})
    expect(plain.value).toMatchObject({ confidence: null, stakes: 'high' })
    for (const name of ['outcome', 'lessons', 'agent', 'project', 'pr']) expect(plain.value).not.toHaveProperty(name)
    expect(plain.value).toMatchObject({ links: [], source: expect.stringMatching(/^adr:.+one\.md$/) })
    expect(plain.leftOut).toEqual([
      {
        file: 'one.md',
        reason:
          'source, links, project, pr, confidence, outcome, lessons, agent of the file: taken over only with --trust-scores',
      },
    ])
    expect(await read({ trust_scores: true })).toMatchObject({ value: own, leftOut: [] })
  }))
