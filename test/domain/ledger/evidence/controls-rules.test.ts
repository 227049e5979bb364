/** Control rule files: what is refused and how it is said, and what the shipped ones hold. */
import { describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mapEvidence } from '../../../../src/domain/ledger/evidence/controls.ts'
import { mappedText } from '../../../../src/domain/ledger/evidence/mapped-text.ts'
import { parseControlFiles, parseControls } from '../../../../src/domain/ledger/evidence/rules.ts'
import { controlPacks, loadControls, openControls, PolicyError, shippedControls } from '../../../../src/policy/files.ts'
import { chainOf, link, story } from '../../../support/evidence/events.ts'

const head = `framework: F
version: "1"
date: 2026-01-01
source: S
note: N
evidence_class: observed
`
const rule = (more: string) => `${head}rules:
  - id: a
    stage: s
    function_id: A-1
    control_name: A
${more}`
const good = rule('    description: d\n    match: { event_type: pr_opened, conditions: [{ field: x.y, gt: 0 }] }\n')
const errorsOf = (text: string) =>
  parseControls({ name: 'f.yaml', text }).errors.map(({ line, message }) => [line, message])

test('a good file is read, defaults filled', () => {
  const { set, errors } = parseControls({ name: 'f.yaml', text: good })
  expect(errors).toEqual([])
  expect(set!.rules[0]!.match.conditions).toEqual([{ field: 'x.y', gt: 0 }])
  expect(set!.digest).toMatch(/^[0-9a-f]{64}$/)
})

describe.each([
  ['a key that is unknown', good.replace('stage:', 'stgae:'), 9, 'unknown key stgae; did you mean stage?'],
  ['no framework', good.replace('framework: F\n', ''), 1, 'framework is required'],
  ['another class', good.replace('observed', 'observde'), 6, 'did you mean observed?'],
  ['a date that is none', good.replace('2026-01-01', 'soon'), 3, 'a date such as 2026-07-01'],
  ['no rules', `${head}rules: []\n`, 7, 'at least one rule'],
  ['two tests', good.replace('gt: 0', 'gt: 0, lt: 3'), 13, 'received gt and lt'],
  ['no test', good.replace(', gt: 0', ''), 13, 'received none'],
  ['a test of another kind', good.replace('gt: 0', 'gt: "0"'), 13, 'gt: expected number'],
  ['an unknown test', good.replace('gt: 0', 'equal: 0'), 13, 'did you mean equals?'],
  ['nothing to say', rule('    match: { event_type: x }\n'), 8, 'expected description, or insufficient_evidence'],
  ['no reason', rule('    insufficient_evidence: true\n    match: { event_type: x }\n'), 8, 'expected reason'],
  ['a reason alone', rule('    reason: r\n    match: { event_type: x }\n'), 12, 'expected insufficient_evidence: true'],
  ['YAML that is none', `${head}rules: [`, 7, ''],
  ['not a map', '- a\n', 1, ''],
])('%s', (_, text, line, message) => {
  test('is refused with its line and what was expected', () => {
    const errors = errorsOf(text)
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.map(([at]) => at)).toContain(line)
    expect(errors.map(([, said]) => said).join('\n')).toContain(message)
  })
})

test('ids are unique over files, and a control has one name', () => {
  const other = good.replace('control_name: A', 'control_name: B')
  const { errors } = parseControlFiles([
    { name: 'a.yaml', text: good },
    { name: 'b.yaml', text: other },
  ])
  expect(errors.map(({ file, line }) => [file, line])).toEqual([
    ['b.yaml', 8],
    ['b.yaml', 11],
  ])
  expect(errors[0]!.message).toContain('taken by a rule of a.yaml')
})

test('the program holds what the folder holds, and every file names its schema', async () => {
  const folder = join(import.meta.dir, '../../../../guardrails/controls')
  const names = (await readdir(folder)).map((name) => `guardrails/controls/${name}`).sort()
  const every = [...shippedControls, ...Object.values(controlPacks).flat()]
  expect(every.map(({ name }) => name).sort()).toEqual(names)
  for (const { name, text } of every) {
    expect(text).toBe(await readFile(join(folder, '../..', name), 'utf8'))
    expect(text).toStartWith('# yaml-language-server: $schema=../../docs/reference/controls.schema.json\n')
  }
})

test('the shipped rules cover every type of event, and say which text they follow', () => {
  const { sets, controls } = loadControls()
  expect([...controls.observed.keys()].sort()).toEqual([
    'ci_completed',
    'pr_closed',
    'pr_commit',
    'pr_merged',
    'pr_opened',
    'pr_reverted',
    'pr_review_approved',
    'pr_review_comment',
  ])
  expect([...controls.attested.keys()]).toEqual(['cstp_decision_linked'])
  expect(sets.map(({ framework, evidence_class }) => [framework, evidence_class])).toEqual([
    ['SR 11-7', 'observed'],
    ['NIST AI RMF 1.0', 'observed'],
    ['Attested decision records', 'attested'],
  ])
  expect(sets[0]!.note).toContain('superseded by SR 26-2 on 2026-04-17')
})

test('no rule reads the count of approvals in general', () => {
  const read = loadControls([...shippedControls, ...Object.values(controlPacks).flat()]).sets.flatMap(({ rules }) =>
    rules.flatMap(({ match }) => match.conditions),
  )
  expect(read.map(({ field }) => field)).not.toContain('approval_count')
})

describe('packs', () => {
  test('are not applied unless they are named, and fit together', async () => {
    expect((await openControls([])).sets.map(({ framework }) => framework)).toEqual(
      loadControls().sets.map(({ framework }) => framework),
    )
    const { sets } = await openControls(['iso-42001', 'eu-ai-act', 'eu-ai-act'])
    expect(sets.slice(3).map(({ framework }) => framework)).toEqual([
      'ISO/IEC 42001 Annex A',
      'EU AI Act (deployers)',
      'EU AI Act (deployers), attested',
    ])
  })

  test('say from when the duties apply, and that nothing is certified', async () => {
    const [iso, eu] = (await openControls(['iso-42001', 'eu-ai-act'])).sets.slice(3).map(({ note }) => note)
    expect(eu).toContain('2 December 2027')
    expect(eu).toContain('2 August 2028 (Regulation (EU) 2026/1744)')
    expect(eu).toContain('never that the duty is met')
    expect(iso).toContain('never that the system conforms')
  })

  test('leave the mappings of the default rules as they are, and a duty that no event can show is insufficient', async () => {
    const events = [...story(1), ...story(2), link('d', [1])]
    const mappedBy = async (packs: string[]) => {
      const evidence = await chainOf(events)
      const mapped = await mapEvidence(evidence, await openControls(packs), events.length, async () => {})
      return JSON.parse([...mappedText(mapped)].join('')) as Record<
        string,
        { framework: string; function_id: string }[]
      >
    }
    const [own, more] = [await mappedBy([]), await mappedBy(['eu-ai-act', 'iso-42001'])]
    const byDefault = ({ framework }: { framework: string }) => /^(?:SR|NIST)/.test(framework)
    for (const list of ['mappings', 'insufficient_evidence'])
      expect(more[list]!.filter(byDefault)).toEqual(own[list]!.filter(byDefault))
    const controlsOf = (list: string) => new Set(more[list]!.map(({ function_id }) => function_id))
    for (const id of ['AIA-13.3', 'AIA-19.1', 'AIA-26.1', 'AIA-26.6']) {
      expect(controlsOf('insufficient_evidence')).toContain(id)
      expect(controlsOf('mappings')).not.toContain(id)
    }
    for (const id of ['AIA-14.4', 'AIA-26.2', 'A.6.2.4', 'A.6.2.5']) expect(controlsOf('mappings')).toContain(id)
  })

  test('one that is unknown is refused with those that there are', async () => {
    const refused = await openControls(['eu-ai-akt']).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(PolicyError)
    expect(String(refused)).toContain('one of eu-ai-act, iso-42001')
  })
})
