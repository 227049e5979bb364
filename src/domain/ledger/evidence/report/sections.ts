/** The sections of the evidence report, each as nodes of a document. */
import type { EvidenceRecord } from '../../../../../sdk/storage/evidence.ts'
import type { Bundle } from '../bundle.ts'
import type { ControlRules } from '../controls.ts'
import type { ControlTally, Tallies } from './tallies.ts'
import { code, cut, facts, figure, heading, type Node, paragraph, subheading, table, type Writer } from './text.ts'

const percentText = (value: number): string => `${value} %`
const noun = (count: number, one: string, many = `${one}s`): string => `${figure(count)} ${count === 1 ? one : many}`

/** The standing of a control in two words. */
export function standing({ mapped, insufficient, attested_only }: ControlTally): string {
  if (mapped.observed > 0) return insufficient > 0 ? 'Observed, with gaps' : 'Observed'
  if (attested_only) return insufficient > 0 ? 'Attested only, with gaps' : 'Attested only'
  return insufficient > 0 ? 'Insufficient' : 'No evidence'
}

const colours: Record<string, string> = {
  Observed: '#1b6b3a',
  'Observed, with gaps': '#7a5b00',
  'Attested only': '#9a3b00',
  'Attested only, with gaps': '#9a3b00',
  Insufficient: '#a01616',
  'No evidence': '#6b7280',
}

export function cover(
  { mapped, head, generated_at, bundle_id, service_version }: Bundle,
  log: string,
  times: string,
): Node[] {
  const { observed, attested } = mapped.coverage
  return [
    { text: 'Evidence report', style: 'title', margin: [0, 170, 0, 6] },
    {
      text: 'Evidence on changes that agents made or helped to make, and the controls that it supports',
      style: 'subtitle',
    },
    {
      canvas: [{ type: 'line', x1: 0, y1: 0, x2: 495, y2: 0, lineWidth: 1, lineColor: '#1f3a5f' }],
      margin: [0, 18, 0, 18],
    },
    facts([
      ['Log', log],
      [
        'Events',
        `${figure(head.size)} (${figure(observed.total_events)} observed, ${figure(attested.total_events)} attested)`,
      ],
      ['Reported times', times],
      ['Chain', { text: 'Intact: every record follows the one before it', bold: true, color: '#1b6b3a' }],
      ['Generated', generated_at],
      ['Bundle', bundle_id],
      ['Service version', service_version],
    ]),
    { text: 'Head hash', style: 'name', margin: [0, 18, 0, 2] },
    code(head.head_hash),
    { text: '', pageBreak: 'after' },
  ]
}

export function summary({ mapped }: Bundle, { controls }: Tallies): Node[] {
  const { observed, attested } = mapped.coverage
  const count = (right: (one: ControlTally) => boolean) => controls.filter(right).length
  const empty = observed.total_events + attested.total_events === 0
  const sentences = empty
    ? ['The log has no events, so no control has evidence, and the coverage is 0 %.']
    : [
        `${noun(observed.total_events, 'event was', 'events were')} reported by third parties (observed); ${figure(observed.mapped_events)} of them ${observed.mapped_events === 1 ? 'supports' : 'support'} at least one control.`,
        `${noun(attested.total_events, 'record was', 'records were')} made by agents about themselves (attested); ${figure(attested.mapped_events)} of them ${attested.mapped_events === 1 ? 'supports' : 'support'} at least one control.`,
        `Of ${controls.length} controls, ${count(({ mapped: by }) => by.observed > 0)} have observed evidence, ${mapped.attested_only_controls.length} have attested records only, and ${count(({ mapped: by }) => by.observed + by.attested === 0)} have no sufficient evidence.`,
        `In ${noun(mapped.insufficient_evidence_count, 'case')} an event did not support a control that it should support. Section 4 gives the reasons.`,
      ]
  return [
    heading('1  Summary'),
    { ul: sentences, style: 'paragraph' },
    paragraph(
      'Observed and attested evidence are never added up: the report of a third party and the report of an agent about itself do not have the same weight. A mapping says that an event supports a control, not that the control is effective.',
    ),
  ]
}

export function coverage({ mapped }: Bundle, { types }: Tallies, { text }: Writer): Node[] {
  const classes = ['observed', 'attested'] as const
  const sources = classes.flatMap((name) => mapped.coverage[name].by_source.map((one) => ({ name, ...one })))
  const shown = sources.slice(0, 40)
  return [
    heading('2  Coverage by class of evidence'),
    table(
      ['*', 70, 70, 80, 70],
      ['Class', 'Events', 'Mapped', 'Not mapped', 'Coverage'],
      classes.map((name) => {
        const { total_events, mapped_events, unmapped_events, coverage_pct } = mapped.coverage[name]
        return [
          { text: name, bold: true },
          ...[total_events, mapped_events, unmapped_events].map((value) => ({
            text: figure(value),
            alignment: 'right',
          })),
          { text: percentText(coverage_pct), alignment: 'right' },
        ]
      }),
    ),
    ...(shown.length === 0
      ? []
      : [
          table(
            ['*', 120, 80],
            ['Source', 'Class', 'Events'],
            shown.map(({ source, name, events }) => [
              { text: cut(text(source), 200), wordBreak: 'break-all' },
              name,
              { text: figure(events), alignment: 'right' },
            ]),
          ),
          ...(sources.length > shown.length
            ? [paragraph(`And ${noun(sources.length - shown.length, 'further source')}.`)]
            : []),
        ]),
    ...(types.length === 0
      ? []
      : [
          table(
            [130, 60, 60, '*'],
            ['Type of event', 'Class', 'Events', 'Without mapping'],
            types
              .slice(0, 60)
              .map(({ event_type, evidence_class, total, unmapped }) => [
                { text: cut(text(event_type), 120), wordBreak: 'break-all' },
                evidence_class,
                { text: figure(total), alignment: 'right' },
                unmapped.count() === 0 ? 'none' : `${figure(unmapped.count())}: ${unmapped.text()}`,
              ]),
          ),
          ...(types.length > 60 ? [paragraph(`And ${noun(types.length - 60, 'further type')} of event.`)] : []),
        ]),
  ]
}

export function controls({ controls: all }: Tallies): Node[] {
  const frameworks = [...new Set(all.map(({ framework }) => framework))]
  return [
    { ...(heading('3  Controls') as object), pageBreak: 'before' },
    paragraph(
      'Attested only: no observed event supports the control, only reports of agents about themselves. With gaps: other events should support the control and do not.',
    ),
    ...frameworks.flatMap((framework): Node[] => [
      subheading(framework),
      table(
        [72, '*', 40, 38, 50, 66],
        ['Control', 'Name and stage', 'Observed', 'Attested', 'Insufficient', 'Standing'],
        all
          .filter((one) => one.framework === framework)
          .map((one) => {
            const word = standing(one)
            const numbers = [one.mapped.observed, one.mapped.attested, one.insufficient]
            return [
              { text: one.function_id, bold: true },
              [one.control_name, { text: one.stage, style: 'small' }],
              ...numbers.map((value) => ({ text: value === 0 ? '–' : figure(value), alignment: 'right' })),
              { text: word, bold: true, color: colours[word] },
            ]
          }),
      ),
    ]),
  ]
}

export function insufficient({ reasons }: Tallies): Node[] {
  return [
    heading('4  Insufficient evidence'),
    reasons.length === 0
      ? paragraph('Every event supports the controls that it should support.')
      : table(
          [78, '*', 44, 160],
          ['Control', 'Why the events do not support it', 'Cases', 'Events (number in the log)'],
          reasons.map(({ function_id, control_name, evidence_class, text, events }) => [
            { text: function_id, bold: true },
            [text, { text: `${control_name} (${evidence_class})`, style: 'small' }],
            { text: figure(events.count()), alignment: 'right' },
            events.text(),
          ]),
        ),
  ]
}

const maxDecisions = 100

export function decisions({ decisions: linked }: Bundle, { text }: Writer): Node[] {
  return [
    heading('5  Linked decisions'),
    linked.length === 0
      ? paragraph('No decision is linked to evidence.')
      : table(
          [170, '*'],
          ['Decision', 'SHA-256 of its record (canonical JSON)'],
          linked
            .slice(0, maxDecisions)
            .map(({ id, sha256 }) => [
              cut(text(id), 80),
              sha256 === null
                ? { text: 'no longer in the store', italics: true }
                : { ...(code(sha256) as object), fontSize: 7 },
            ]),
        ),
    ...(linked.length > maxDecisions
      ? [paragraph(`And ${figure(linked.length - maxDecisions)} more, which the JSON bundle lists.`)]
      : []),
  ]
}

export function integrity(
  { head, verifier_key, policy_hash }: Bundle,
  json: { name: string; sha256: string } | null,
): Node[] {
  const fact = (name: string, value: string): Node => [{ text: name, style: 'name', margin: [0, 5, 0, 1] }, code(value)]
  return [
    heading('6  Integrity of the chain'),
    paragraph(
      'Each record contains the SHA-256 of the one before it, so that no record can be changed, removed, inserted or moved without changes to all that follow. The signed checkpoint below names the size and the root of the Merkle tree (RFC 9162) over the records. The whole chain was verified when this report was generated.',
    ),
    fact('Events', figure(head.size)),
    fact('Head hash', head.head_hash),
    fact('Merkle root', head.root_hash),
    fact('Hash of the policy in force', policy_hash),
    fact('Checkpoint (C2SP signed note)', head.note.trimEnd()),
    fact('Key of the log', verifier_key),
    ...(json ? [fact(`SHA-256 of the JSON bundle ${json.name}`, json.sha256)] : []),
    heading('7  How to verify'),
    paragraph(
      'This document is a rendering and proves nothing by itself. Verify the JSON bundle instead: this needs only the cstp program, no server and no database.',
    ),
    {
      ol: [
        [
          'Get the key of the log from another source than this bundle, for example from /.well-known/cstp-evidence-key when you first rely on it, and compare it with the key above.',
        ],
        [
          'Verify the bundle. The exit status is 0 if all checks pass.',
          code(`cstp verify ${json?.name ?? 'bundle.json'} --key <key>`),
        ],
        [
          'If a witness cosigns the log, or if you kept an older bundle, check also that the history was not rewritten or cut off.',
          code(
            `cstp verify ${json?.name ?? 'bundle.json'} --key <key> --witness <key> --note <its checkpoint> --against <older bundle>`,
          ),
        ],
      ],
      style: 'paragraph',
    },
  ]
}

export function sources({ sets }: ControlRules): Node[] {
  return [
    heading('8  Rules and their sources'),
    ...sets.flatMap(({ framework, version, date, source, note, evidence_class, digest }): Node[] => [
      subheading(`${framework} (${evidence_class} events)`),
      paragraph(`Rules version ${version} of ${date}. Source: ${source}.`),
      paragraph(note),
      code(`digest ${digest}`),
    ]),
  ]
}

/** How many events the register shows from either end of the log. */
export const registerEnds = 100

export function register(records: readonly EvidenceRecord[], size: number, { text }: Writer): Node[] {
  if (size === 0) return []
  const all = records.length === size
  return [
    { ...(heading('Appendix  Register of events') as object), pageBreak: 'before' },
    paragraph(
      all
        ? 'Every event of the log.'
        : `The first and the last ${registerEnds} of ${figure(size)} events; the JSON bundle contains all of them.`,
    ),
    table(
      [30, 94, 96, '*'],
      ['No.', 'Time as reported', 'Type, source and class', 'Payload'],
      records.map(({ seq, ts, event_type, source, evidence_class, payload }) => {
        const words = (value: string) => ({ text: cut(text(value), 60), wordBreak: 'break-all' })
        return [
          { text: figure(seq), alignment: 'right' },
          words(ts),
          { stack: [words(event_type), { ...words(`${source} · ${evidence_class}`), color: '#6b7280' }] },
          { text: cut(text(payload), 240), wordBreak: 'break-all' },
        ].map((cell) => ({ ...cell, fontSize: 7 }))
      }),
    ),
  ]
}
