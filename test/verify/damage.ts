/** Damaged bundles, made from one that holds: each case says what was done and what the verifier must find. */
import { createHash } from 'node:crypto'
import { contentDigest } from '../../src/domain/ledger/evidence/content.ts'
import { compileControls } from '../../src/domain/ledger/evidence/controls.ts'
import { recordHash } from '../../src/domain/ledger/evidence/hash.ts'
import { parseControlFiles } from '../../src/domain/ledger/evidence/rules.ts'
import type { BundleReport } from '../../src/verify/bundle.ts'
import { openMerkle } from '../../src/verify/note.ts'
import { canonicalText } from '../../src/verify/read.ts'
import { bundleOf } from '../support/evidence/bundles.ts'
import { event, link } from '../support/evidence/events.ts'
import { logSigner } from '../support/evidence/note-signers.ts'

// biome-ignore lint/suspicious/noExplicitAny: a bundle that is about to be damaged in any way
type Any = any

export interface Case {
  name: string
  /** What was done to the bundle. */
  what: string
  /** The check that must fail, or null where the file alone shows nothing wrong. */
  finds: BundleReport['findings'][number]['check'] | null
  /** The event that must be named. */
  seq?: number
  /** Text that a finding must contain. */
  says?: string
  bytes: Uint8Array
}

/** Few rules, so that the files stay small. */
export const rules = `framework: Example
version: "1"
date: 2026-07-01
source: none
note: Rules for tests.
evidence_class: observed
rules:
  - id: r-1
    stage: s
    function_id: C-1
    control_name: Reviewed by a person
    description: A person approved.
    match: { event_type: pr_review_approved, conditions: [{ field: actor_is_human, equals: true }] }
  - id: r-2
    stage: s
    function_id: C-1
    control_name: Reviewed by a person
    insufficient_evidence: true
    reason: No person is known to have approved.
    match: { event_type: pr_review_approved }
`
export const exampleControls = compileControls(parseControlFiles([{ name: 'example.yaml', text: rules }]).sets)

export const log = logSigner()
export const decision = '2026-07-01-decision-3f9a1c0b7d2e'
export const events = [
  event('pr_opened', { pr_number: 42, title: 'Add risk scorer v2' }),
  event('pr_review_approved', { pr_number: 42, reviewer: 'Zoë', actor_is_human: true }),
  event('pr_review_approved', { pr_number: 42, reviewer: 'bot', actor_is_human: false }),
  event('pr_merged', { pr_number: 42, human_approval_count: 1, labels: ['risk', 'v2'] }),
  link(decision, [1, 2, 4]),
]
export const good = await bundleOf(events, {
  log,
  controls: exampleControls,
  decisions: { [decision]: { id: decision } },
  links: [{ attested_seq: 5, event_seqs: [1, 2, 4], content_sha256: contentDigest({ id: decision } as Any) }],
})

/** Signs the bundle as it is. */
export function resign(bundle: Any, signer: ReturnType<typeof logSigner>): void {
  const { signature: _, ...rest } = bundle
  const sha256 = createHash('sha256').update(canonicalText(rest)).digest('hex')
  bundle.signature = signer.sign(`cstp evidence bundle\nsha256:${sha256}\n`)
}

/** The hashes, the size, the root and, where a key is given, the checkpoint made to fit the events again. */
function refit(bundle: Any, signer: ReturnType<typeof logSigner> | null, unlinked = 0): void {
  const merkle = openMerkle()
  let prev_hash = '0'.repeat(64)
  bundle.events.forEach((one: Any, at: number) => {
    one.seq = at + 1
    one.prev_hash = one.seq === unlinked ? '0'.repeat(64) : prev_hash
    one.hash = prev_hash = recordHash({ ...one, payload: canonicalText(one.payload) })
    merkle.add(one.hash)
  })
  bundle.chain_size = bundle.events.length
  bundle.chain_head_hash = prev_hash
  bundle.chain_root_hash = merkle.root()
  if (signer)
    bundle.checkpoint = {
      note: signer.note(bundle.chain_size, bundle.chain_root_hash),
      verifier_key: signer.verifier_key,
    }
}

const flipped = (hash: string): string => (hash[0] === '0' ? '1' : '0') + hash.slice(1)
const cases: Case[] = []
const add = (name: string, what: string, finds: Case['finds'], bytes: Uint8Array | string, more: Partial<Case> = {}) =>
  cases.push({ name, what, finds, ...more, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes })

/** A case whose bundle is canonical again after the damage. */
function edited(
  name: string,
  what: string,
  finds: Case['finds'],
  edit: (bundle: Any) => void,
  more: Partial<Case> = {},
) {
  const bundle = JSON.parse(good)
  edit(bundle)
  add(name, what, finds, canonicalText(bundle), more)
}
/** A case that replaces text. */
function replaced(
  name: string,
  what: string,
  finds: Case['finds'],
  from: string,
  to: string,
  more: Partial<Case> = {},
) {
  if (!good.includes(from)) throw new Error(`${name}: ${from} is not in the bundle`)
  add(name, what, finds, good.replace(from, to), more)
}

add('good', 'Nothing is wrong', null, good)

// Events.
edited('payload', 'A value in a payload was changed', 'chain', (b) => (b.events[2].payload.actor_is_human = true), {
  seq: 3,
  says: 'was changed',
})
edited('ts', 'A time was changed', 'chain', (b) => (b.events[0].ts = '2026-07-01T10:00:01Z'), { seq: 1 })
edited('source', 'A source was changed', 'chain', (b) => (b.events[1].source = 'gitlab'), { seq: 2 })
edited('type', 'A type was changed', 'chain', (b) => (b.events[3].event_type = 'pr_closed'), { seq: 4 })
edited('class', 'An attested event was made observed', 'chain', (b) => (b.events[4].evidence_class = 'observed'), {
  seq: 5,
})
edited('hash', 'A hash was changed', 'chain', (b) => (b.events[1].hash = flipped(b.events[1].hash)), { seq: 2 })
edited(
  'prev-hash',
  'The hash before was changed',
  'chain',
  (b) => (b.events[1].prev_hash = flipped(b.events[1].prev_hash)),
  { seq: 2 },
)
edited('seq', 'A number was changed', 'chain', (b) => (b.events[1].seq = 7), { seq: 2, says: 'has the number 7' })
edited('removed', 'An event in the middle was removed', 'chain', (b) => b.events.splice(1, 1), { seq: 2 })
edited('removed-first', 'The first event was removed', 'chain', (b) => b.events.shift(), { seq: 1 })
edited('inserted', 'An event was inserted', 'chain', (b) => b.events.splice(1, 0, { ...b.events[0], seq: 2 }), {
  seq: 2,
})
edited('swapped', 'Two events changed places', 'chain', (b) => b.events.splice(1, 2, b.events[2], b.events[1]), {
  seq: 2,
})
edited('cut', 'The last event was cut off', 'head', (b) => b.events.pop(), { says: 'chain_size' })
edited(
  'cut-refitted',
  'The last event was cut off, and size, head and root were made to fit',
  'checkpoint',
  (b) => {
    b.events.pop()
    refit(b, null)
  },
  { says: 'of 5 events, the bundle has 4' },
)
edited(
  'rewritten',
  'The chain was rewritten consistently',
  'checkpoint',
  (b) => {
    b.events[0].payload.title = 'Nothing to see'
    refit(b, null)
  },
  { says: 'of other events' },
)
edited(
  'rewritten-own-key',
  'The chain was rewritten and signed with another key, which the bundle contains',
  null,
  (b) => {
    b.events[0].payload.title = 'Nothing to see'
    refit(b, logSigner('log.example/1', 'forger'))
    resign(b, logSigner('log.example/1', 'forger'))
  },
)
edited(
  'unlinked',
  'An event names no event before it, its hash fits, and the rest was made to fit and signed',
  'chain',
  (b) => {
    refit(b, log, 2)
  },
  { seq: 2, says: 'does not follow' },
)
edited('extra-field', 'An event has a field more', 'chain', (b) => (b.events[0].note = 'x'), { seq: 1 })
edited('missing-field', 'An event lacks a field', 'chain', (b) => delete b.events[0].source, { seq: 1 })
edited(
  'class-unknown',
  'An event has a class that does not exist',
  'chain',
  (b) => (b.events[0].evidence_class = 'trusted'),
  { seq: 1 },
)
edited('payload-no-object', 'A payload is not an object', 'chain', (b) => (b.events[0].payload = [1]), { seq: 1 })
edited('event-null', 'An event is null', 'chain', (b) => (b.events[2] = null), { seq: 3 })
replaced(
  'payload-order',
  'The keys of a payload are in another order',
  'chain',
  '{"pr_number":42,"title":"Add risk scorer v2"}',
  '{"title":"Add risk scorer v2","pr_number":42}',
  { seq: 1, says: 'canonical' },
)
replaced(
  'payload-number',
  'A number is written in another way',
  'chain',
  '{"pr_number":42,"title"',
  '{"pr_number":42.0,"title"',
  { seq: 1, says: 'canonical' },
)
replaced(
  'payload-twice',
  'A key stands twice',
  'chain',
  '{"pr_number":42,"title"',
  '{"pr_number":1,"pr_number":42,"title"',
  { seq: 1, says: 'canonical' },
)
replaced('payload-escape', 'A letter is written as an escape', 'chain', 'Add risk', '\\u0041dd risk', {
  seq: 1,
  says: 'canonical',
})
replaced(
  'payload-huge',
  'An integer is too large for JSON',
  'chain',
  '{"pr_number":42,"title"',
  '{"pr_number":9007199254740993,"title"',
  { seq: 1 },
)
replaced(
  'payload-infinite',
  'A number is too large for any float',
  'chain',
  '{"pr_number":42,"title"',
  '{"pr_number":1e999,"title"',
  { seq: 1 },
)
replaced('surrogate', 'Half of a surrogate pair', 'chain', 'Add risk', '\\ud800dd risk', { seq: 1 })

// What is said of the chain.
edited('head-hash', 'The head hash was changed', 'head', (b) => (b.chain_head_hash = b.events[0].hash), {
  says: 'chain_head_hash',
})
edited('size', 'The size was changed', 'head', (b) => (b.chain_size = 4), { says: 'chain_size' })
edited('root', 'The root was changed', 'head', (b) => (b.chain_root_hash = flipped(b.chain_root_hash)), {
  says: 'chain_root_hash',
})
edited('not-intact', 'The bundle says itself that the chain is not intact', 'form', (b) => (b.chain_intact = false), {
  says: 'chain_intact',
})
edited('chain-format', 'Another formula of hashes', 'form', (b) => (b.chain_format = 2), {
  says: 'chain_format: expected 3',
})
edited('bundle-format', 'Another form of bundle', 'form', (b) => (b.bundle_format = 2), {
  says: 'the format of the bundle has version 2; ',
})

// The checkpoint.
edited(
  'signature',
  'A bit of the signature was flipped',
  'checkpoint',
  (b) => {
    const [text, line] = b.checkpoint.note.split('\n\n')
    const [dash, name, encoded] = line.trim().split(' ')
    const bytes = Buffer.from(encoded, 'base64')
    bytes[20]! ^= 1
    b.checkpoint.note = `${text}\n\n${dash} ${name} ${bytes.toString('base64')}\n`
  },
  { says: 'does not match it' },
)
edited(
  'signer',
  'The checkpoint is signed by a key that is not in the bundle',
  'checkpoint',
  (b) => (b.checkpoint.note = logSigner('log.example/1', 'forger').note(b.chain_size, b.chain_root_hash)),
  { says: 'did not sign' },
)
edited(
  'checkpoint-size',
  'The checkpoint is of another size',
  'checkpoint',
  (b) => (b.checkpoint.note = log.note(4, b.chain_root_hash)),
  { says: 'of 4 events' },
)
edited(
  'checkpoint-root',
  'The checkpoint is of another root',
  'checkpoint',
  (b) => (b.checkpoint.note = log.note(5, flipped(b.chain_root_hash))),
  { says: 'of other events' },
)
edited(
  'other-log',
  'The checkpoint is of another log than the key',
  'checkpoint',
  (b) => (b.checkpoint.note = logSigner('other.example/1').note(5, b.chain_root_hash)),
  { says: 'of the log other.example/1' },
)
edited('no-note', 'The checkpoint is no note', 'checkpoint', (b) => (b.checkpoint.note = 'trust me'), {
  says: 'not a signed note',
})
edited(
  'key-mistyped',
  'The key in the bundle is mistyped',
  'checkpoint',
  (b) => (b.checkpoint.verifier_key = b.checkpoint.verifier_key.replace('+', '+0').replace(/(\+.{8}).\+/, '$1+')),
  { says: "can't be read" },
)
edited('no-checkpoint', 'There is no checkpoint', 'form', (b) => (b.checkpoint = null), { says: 'checkpoint' })

// What was concluded.
edited('mapping-removed', 'A mapping was removed', 'conclusions', (b) => b.mappings.pop(), { seq: 2, says: 'missing' })
edited('mapping-added', 'A mapping was made up', 'conclusions', (b) => b.mappings.push({ ...b.mappings[0], seq: 3 }), {
  says: 'follows from no event',
})
edited('mapping-moved', 'A mapping names another event', 'conclusions', (b) => (b.mappings[0].seq = 3), { seq: 2 })
edited(
  'insufficient-removed',
  'An insufficiency was removed',
  'conclusions',
  (b) => {
    b.insufficient_evidence = []
    b.insufficient_evidence_count = 0
  },
  { seq: 3, says: 'missing' },
)
edited(
  'reason',
  'The reason of an insufficiency was softened',
  'conclusions',
  (b) => (b.insufficient_evidence[0].reason = 'All is well.'),
  { seq: 3 },
)
edited('count', 'The count of insufficiencies was changed', 'conclusions', (b) => (b.insufficient_evidence_count = 0), {
  says: 'insufficient_evidence_count',
})
edited('coverage', 'Coverage was polished', 'conclusions', (b) => (b.coverage.observed.coverage_pct = 100), {
  says: 'coverage',
})
edited('by-source', 'A source was left out', 'conclusions', (b) => (b.coverage.observed.by_source = []), {
  says: 'coverage',
})
edited(
  'attested-only',
  'A control was added to those that are attested only',
  'conclusions',
  (b) => b.attested_only_controls.push('C-1'),
  { says: 'attested_only_controls' },
)
edited('unmapped', 'An event without mapping was hidden', 'conclusions', (b) => b.unmapped.pop(), { says: 'unmapped' })
edited('rule', 'A rule was changed', 'conclusions', (b) => (b.control_rules[0].rules[0].match.conditions = []), {
  says: 'do not give their digest',
})
edited('rules-none', 'The rules are no rules', 'conclusions', (b) => (b.control_rules = [{ rules: [1] }]), {
  says: 'invalid set of rules',
})
edited('decision-removed', 'A linked decision is not listed', 'decisions', (b) => (b.decisions = []), {
  says: 'not those',
})
edited(
  'decision-added',
  'A decision is listed that nothing links to',
  'decisions',
  (b) => b.decisions.push({ content_sha256: null, id: 'x', linked: [], sha256: null }),
  { says: 'not those' },
)
edited('decision-digest', 'A digest is none', 'decisions', (b) => (b.decisions[0].sha256 = 'abc'), { says: 'SHA-256' })

edited('decision-links', 'A link of a decision is left out', 'decisions', (b) => (b.decisions[0].linked = []), {
  says: 'not those',
})
edited(
  'decision-changed',
  'The service signed that the decision was another one when it was linked',
  'links',
  (b) => {
    b.decisions[0].linked[0].content_sha256 = 'a'.repeat(64)
    resign(b, log)
  },
  { seq: 5, says: 'was changed after event 5 linked it' },
)

// The signature of the whole.
const unsaid: [name: string, what: string, edit: (bundle: Any) => void][] = [
  ['signed-time', 'The time was changed', (b) => (b.generated_at = '2030-01-01T00:00:00.000Z')],
  ['signed-policy', 'The policy hash was changed', (b) => (b.policy_hash = 'b'.repeat(64))],
  ['signed-version', 'The version was changed', (b) => (b.service_version = '9.9.9')],
  ['signed-id', 'The id was changed', (b) => (b.bundle_id = '11111111-0000-4000-8000-000000000000')],
  ['signed-decision', 'The digest of a decision was changed', (b) => (b.decisions[0].sha256 = 'b'.repeat(64))],
  [
    'signed-content',
    'The content of a decision was changed, at its link too',
    (b) => {
      b.decisions[0].content_sha256 = b.decisions[0].linked[0].content_sha256 = 'b'.repeat(64)
    },
  ],
  [
    'signed-rules',
    'A rule was weakened, with its digest and all that follows from it',
    (b) => {
      b.control_rules[0].rules[0].match.conditions = []
      const { digest: _, ...set } = b.control_rules[0]
      b.control_rules[0].digest = createHash('sha256').update(canonicalText(set)).digest('hex')
      b.mappings.push({ ...b.mappings[0], seq: 3 })
      b.insufficient_evidence = []
      b.insufficient_evidence_count = 0
      b.unmapped = b.unmapped.filter((one: Any) => one.seq !== 3)
      Object.assign(b.coverage.observed, { mapped_events: 2, unmapped_events: 2, coverage_pct: 50 })
    },
  ],
]
for (const [name, what, edit] of unsaid) edited(name, what, 'signature', edit, { says: 'changed after it was signed' })
edited('signature-checkpoint', 'The note of the checkpoint is used as signature', 'signature', (b) => {
  b.signature = b.checkpoint.note
})
edited('signature-none', 'The signature is no note', 'signature', (b) => (b.signature = 'trust me'), {
  says: 'not a signed note',
})
edited('signature-missing', 'The signature is missing', 'form', (b) => delete b.signature, {
  says: 'signature is missing',
})
edited(
  'signature-forged',
  'Another key of the same name signed it after a change',
  'signature',
  (b) => {
    b.policy_hash = 'b'.repeat(64)
    resign(b, logSigner('log.example/1', 'forger'))
  },
  { says: 'did not sign it' },
)

// The file.
edited('member-missing', 'A member is missing', 'form', (b) => delete b.unmapped, { says: 'unmapped is missing' })
edited('member-unknown', 'There is a member more', 'form', (b) => (b.zzz = 1), { says: 'no bundle has' })
for (const name of ['__proto__', 'constructor'])
  replaced(
    `member-${name.replaceAll('_', '')}`,
    `There is a member ${name}, as every object of JavaScript has it`,
    'form',
    '{"attested_only_controls"',
    `{"${name}":{"checkpoint":null},"attested_only_controls"`,
    { says: 'no bundle has' },
  )
edited('list-no-list', 'A list is an object', 'form', (b) => (b.mappings = {}), { says: 'mappings: expected a list' })
replaced('member-twice', 'A member stands twice', 'form', '"bundle_format":1', '"bundle_format":1,"bundle_format":1', {
  says: 'twice',
})
replaced('space', 'There is a space in it', 'form', '"coverage":', '"coverage": ', { says: 'at byte' })
add('indented', 'It was formatted for people', 'form', JSON.stringify(JSON.parse(good), null, 2))
add('newline', 'A newline was added at the end', 'form', `${good}\n`, { says: 'the end of the file' })
add('shortened', 'The second half of the file is missing', 'form', good.slice(0, good.length / 2), { says: 'ends' })
add('empty', 'The file is empty', 'form', '', { says: 'ends here' })
add('no-json', 'The file is something else', 'form', '%PDF-1.7\n')
add('array', 'The file is a list', 'form', `[${good}]`)
add('mark', 'A byte order mark was put in front', 'form', `\uFEFF${good}`)
add('latin1', 'The file is not in UTF-8', 'form', Buffer.from(good, 'latin1'), { says: 'UTF-8' })

export { cases }
