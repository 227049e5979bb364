/**
 * The control mappings as OSCAL assessment results. They assess the evidence, not the control: each objective asks whether events
 * support a control and none falls short of it, and "satisfied" says no more than that.
 * @see NIST OSCAL 1.2.1, Assessment Results Model
 */
import { createHash } from 'node:crypto'
import type { Bundle } from './bundle.ts'
import type { ControlRules } from './controls.ts'
import { standing } from './report/sections.ts'
import { type ControlTally, type RuleTally, tallies } from './report/tallies.ts'
import { claims } from './statement.ts'

/** Namespaces of the names below, and of properties that OSCAL does not define. */
const namespace = '17c143d7-68e4-4212-ae63-5f2fa05e5794'
const ns = 'pkg:npm/cstp'

/** A UUID that is the same for the same names. @see RFC 9562, version 5 */
function uuidOf(...names: (string | number)[]): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(JSON.stringify(names))
    .digest()
  bytes[6] = (bytes[6]! & 0x0f) | 0x50
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/** An OSCAL identifier: letters, digits and . _ - after a letter or an underscore. */
const token = (text: string): string => text.replace(/[^\p{L}\p{N}._-]/gu, '_').replace(/^[^\p{L}_]/u, '_$&')
/** Text without line breaks, and without white space at its ends. */
const line = (text: string): string => text.replace(/\s+/g, ' ').trim()
const prop = (name: string, value: string | number) => ({ name, ns, value: line(String(value)) })
const objectiveId = ({ function_id }: Pick<ControlTally, 'function_id'>): string => `${token(function_id)}.evidence`

/** Leaves out an empty list, as OSCAL requires. */
const unlessEmpty = <K extends string, T>(name: K, list: T[]): { [name in K]?: T[] } =>
  (list.length === 0 ? {} : { [name]: list }) as { [name in K]?: T[] }

const limits = claims.join(' ')

const objective = (control: ControlTally) => ({
  'control-id': token(control.function_id),
  description: line(`${control.framework}: ${control.control_name}`),
  props: [prop('framework', control.framework), prop('stage', control.stage)],
  parts: [
    {
      id: objectiveId(control),
      name: 'objective',
      title: line(control.control_name),
      prose:
        'At least one event of a third party supports the control, and no event that should support it falls short. This is about the events in the log, not about the effect of the control.',
    },
  ],
})

interface Origin {
  /** Identifies the state of the log that was assessed. */
  state: readonly (string | number)[]
  log_uuid: string
  collected: string
}

const observationUuid = ({ state }: Origin, { rule_id }: RuleTally): string => uuidOf(...state, 'observation', rule_id)

const observation = (origin: Origin, rule: RuleTally, type: 'mapping' | 'insufficient-evidence') => ({
  uuid: observationUuid(origin, rule),
  title: line(`${rule.function_id}: ${type === 'mapping' ? 'supported' : 'insufficient evidence'}`),
  description: rule.text,
  props: [
    prop('rule-id', rule.rule_id),
    prop('evidence-class', rule.evidence_class),
    prop('type', type),
    prop('events', rule.events.count()),
  ],
  methods: ['EXAMINE'],
  collected: origin.collected,
  'relevant-evidence': [{ href: `#${origin.log_uuid}`, description: `Events ${rule.events.text()} of the log` }],
})

function finding(origin: Origin, control: ControlTally, found: readonly RuleTally[]) {
  const { function_id, control_name, mapped, insufficient } = control
  const word = standing(control)
  const own = found.filter((rule) => rule.function_id === function_id)
  return {
    uuid: uuidOf(...origin.state, 'finding', function_id),
    title: line(`${function_id} ${control_name}`),
    description: `${word}. Events that support it: ${mapped.observed} observed, ${mapped.attested} attested. Events that should support it and do not: ${insufficient}.`,
    props: [
      prop('observed-events', mapped.observed),
      prop('attested-events', mapped.attested),
      prop('insufficient-events', insufficient),
    ],
    target: {
      type: 'objective-id',
      'target-id': objectiveId(control),
      status: {
        state: word === 'Observed' ? 'satisfied' : 'not-satisfied',
        reason: word === 'Observed' ? 'pass' : 'other',
        remarks: `${word}: this is about the evidence in the log, not about the control itself.`,
      },
    },
    ...unlessEmpty(
      'related-observations',
      own.map((rule) => ({ 'observation-uuid': observationUuid(origin, rule) })),
    ),
  }
}

/** The frameworks with their controls, in the order of the rules. */
const selections = (controls: readonly ControlTally[]) =>
  [...new Set(controls.map(({ framework }) => framework))].map((framework) => ({
    description: line(framework),
    'include-controls': controls
      .filter((one) => one.framework === framework)
      .map(({ function_id }) => ({ 'control-id': token(function_id) })),
  }))

/** @param first_event_at when the first event happened, RFC 3339; null if there is none */
export function oscalResults(bundle: Bundle, rules: ControlRules, first_event_at: string | null) {
  const { head, mapped, generated_at, service_version, verifier_key } = bundle
  const log = head.note.slice(0, head.note.indexOf('\n'))
  const { controls, reasons, mappings } = tallies(mapped, rules)
  const state = [log, head.size, head.root_hash, ...rules.sets.map(({ digest }) => digest)]
  const rules_uuid = uuidOf('rules', ...rules.sets.map(({ digest }) => digest))
  const origin: Origin = { state, log_uuid: uuidOf(...state, 'log'), collected: generated_at }
  const first_ms = Math.min(Date.parse(first_event_at ?? ''), Date.parse(generated_at))
  const start = Number.isNaN(first_ms) ? generated_at : new Date(first_ms).toISOString()
  const observations = [
    ...mappings.map((rule) => observation(origin, rule, 'mapping')),
    ...reasons.map((rule) => observation(origin, rule, 'insufficient-evidence')),
  ]
  const setText = rules.sets.map(({ framework, version, date, source, evidence_class, digest, note }) =>
    line(
      `${framework}, version ${version} of ${date}, for ${evidence_class} events. ${source}. ${note} Digest ${digest}.`,
    ),
  )
  return {
    'assessment-results': {
      // The same for every state of one log; the version is its size.
      uuid: uuidOf(log, 'assessment-results'),
      metadata: {
        title: `Evidence for controls in the log ${log}`,
        'last-modified': generated_at,
        version: String(head.size),
        'oscal-version': '1.2.1',
        props: [prop('service-version', service_version)],
        remarks: limits,
      },
      'import-ap': {
        href: `#${rules_uuid}`,
        remarks: 'There is no assessment plan: the rules are applied to every event.',
      },
      'local-definitions': { 'objectives-and-methods': controls.map(objective) },
      results: [
        {
          uuid: uuidOf(...state, 'result'),
          title: `Events 1 to ${head.size} of the log ${log}`,
          description: 'Control rules applied to every event of an append-only log.',
          start,
          end: generated_at,
          props: [prop('root-hash', head.root_hash), prop('head-hash', head.head_hash), prop('events', head.size)],
          'reviewed-controls': {
            'control-selections': selections(controls),
            'control-objective-selections': [
              { 'include-objectives': controls.map((one) => ({ 'objective-id': objectiveId(one) })) },
            ],
          },
          ...unlessEmpty('observations', observations),
          findings: controls.map((one) => finding(origin, one, [...mappings, ...reasons])),
          remarks: limits,
        },
      ],
      'back-matter': {
        resources: [
          { uuid: rules_uuid, title: 'Control rules', description: setText.join('\n\n') },
          {
            uuid: origin.log_uuid,
            title: `Signed checkpoint of the log ${log}`,
            description: `Its key is ${verifier_key}. The bundle of the same export contains the events.`,
            base64: {
              filename: 'checkpoint.note',
              'media-type': 'text/plain',
              value: Buffer.from(head.note).toString('base64'),
            },
          },
        ],
      },
    },
  }
}
