/** Verifies a bundle offline, optionally against a key, a witness or an older bundle. */
import { type BundleCheck, type BundleFindings, bundleChecks } from './bundle-checks.ts'
import { type Walked, walkBundle } from './bundle-walk.ts'
import type { Chain } from './chain.ts'
import { compareDecisions } from './decisions.ts'
import { checkSigner, type NoteKey, openMerkle, type ReadNote, type SignedNote } from './note.ts'
import { publishedRules } from './published.ts'
import { fieldsIn, openFindings, type Report, shown } from './report.ts'

export interface BundleWanted {
  /** The log's key, from somewhere other than the bundle. */
  key: NoteKey | null
  witness: NoteKey | null
  /** The checkpoint stored by the witness; by default the one in the bundle. */
  note?: ReadNote | null
  /** The bytes of an earlier bundle. */
  older: AsyncIterable<Uint8Array> | null
  /** Digests of rule sets to accept in addition to the published ones. */
  rules?: readonly string[]
}

export interface BundleReport extends Report<BundleCheck> {
  bundle: {
    id: unknown
    generated_at: unknown
    service_version: unknown
    events: number
    head_hash: string
    root_hash: string
    log: string | null
    rules: (Walked['rules'][number] & { published: boolean })[]
    insufficient_evidence_count: number
    decisions: number
    /** Linked decisions for which it is unknown whether they changed. */
    unproved_decisions: string[]
    /** Events that the witness saw; null if no witness was given. */
    witnessed: number | null
  }
}

/** Checks the signatures of a key that does not come from the bundle. */
function checkKey(
  check: 'key' | 'witness',
  key: NoteKey,
  note: ReadNote | null,
  signature: SignedNote | null,
  { fail }: BundleFindings,
): string {
  if (note === null) {
    fail(check, 'the bundle has no valid checkpoint')
    return ''
  }
  if (check === 'key' && key.name !== note.origin)
    fail(check, `the key is that of the log ${key.name}, but the checkpoint is of the log ${note.origin}`)
  if (check === 'key' && signature === null) fail(check, `the bundle: ${key.name} did not sign it`)
  if (signature !== null) checkSigner(signature, key, (why) => fail(check, `the bundle: ${why}`))
  return checkSigner(note, key, (why) => fail(check, `the checkpoint: ${why}`))
}

/** Compares the bundle with the checkpoint that the witness stored, which may cover fewer events. */
function checkSeen(seen: ReadNote, { chain, note }: Walked, findings: BundleFindings): void {
  const { origin, size, root_hash } = seen
  if (note !== null && origin !== note.origin)
    findings.fail(
      'witness',
      `the witness keeps a checkpoint of the log ${origin}, the bundle is of the log ${note.origin}`,
    )
  if (size > chain.size()) {
    findings.fail(
      'witness',
      `the witness saw ${size} events, the bundle has ${chain.size()}: it is older, or its end was cut off; for an older bundle give the checkpoint that the witness keeps of that time`,
    )
    return
  }
  const merkle = openMerkle()
  for (let seq = 1; seq <= size; seq++) merkle.add(chain.hashOf(seq))
  if (merkle.root() !== root_hash)
    findings.fail('witness', `the first ${size} events are not those that the witness saw: history was rewritten`)
}

/** Walks the older bundle and compares its events with the chain of the newer one. */
async function checkOlder(
  chunks: AsyncIterable<Uint8Array>,
  { chain, stated, decisions }: Walked,
  { key }: BundleWanted,
  findings: BundleFindings,
): Promise<string> {
  const own = openFindings(bundleChecks)
  let forked: number | null = null
  const compare = (seq: number, older: Chain) => {
    if (forked === null && seq <= chain.size() && older.hashOf(seq) !== chain.hashOf(seq)) forked = seq
  }
  const older = await walkBundle(chunks, own, compare)
  // A decision changed before is not damage of the older bundle.
  for (const { check, message, seq } of own.list)
    if (check !== 'links') findings.fail('older', `the older bundle itself is damaged: ${message}`, { seq })
  const size = older.chain.size()
  const [ownKey, olderKey] = [stated, older.stated].map(({ checkpoint }) => fieldsIn(checkpoint).verifier_key)
  if (key === null && ownKey !== olderKey)
    findings.fail('older', 'the older bundle was signed with another key: give the key of the log with --key')
  if (forked === null) compareDecisions(older.decisions, decisions, findings)
  if (forked !== null)
    findings.fail('older', `event ${forked as number} was different in the older bundle: history was rewritten`, {
      seq: forked,
    })
  else if (size > chain.size())
    findings.fail('older', `the older bundle has ${size} events, this one ${chain.size()}: the end was cut off`, {
      seq: chain.size() + 1,
    })
  const grown = chain.size() - size
  return `${size} events, ${grown < 0 ? `${-grown} of them missing here` : `${grown} more since`}`
}

/** @throws errors of reading the files; problems of their content are in the report */
export async function verifyBundle(chunks: AsyncIterable<Uint8Array>, wanted: BundleWanted): Promise<BundleReport> {
  const findings = openFindings(bundleChecks)
  const walked = await walkBundle(chunks, findings)
  const { chain, stated, note, decisions, unproved, counts } = walked
  const rules = walked.rules.map((set) => ({
    ...set,
    published: publishedRules.has(set.digest) || (wanted.rules ?? []).includes(set.digest),
  }))
  const seen = wanted.note ?? note
  if (wanted.note) checkSeen(wanted.note, walked, findings)
  const details: Partial<Record<BundleCheck, string>> = {
    chain: `${chain.size()} events`,
    head: chain.head(),
    conclusions: rules.map(({ framework, version }) => `${shown(framework)} (rules ${shown(version)})`).join(', '),
    decisions: `${decisions.length}`,
    rules: rules
      .flatMap(({ framework, published }) => (published ? [] : [`${shown(framework)}: not proved`]))
      .join(', '),
    links: unproved.length === 0 ? `${decisions.length}` : `${unproved.length} of ${decisions.length} not proved`,
    ...(note && { checkpoint: `${note.origin}, size ${note.size}` }),
    ...(wanted.key && { key: checkKey('key', wanted.key, note, walked.signature, findings) }),
    ...(wanted.witness && { witness: checkKey('witness', wanted.witness, seen, null, findings) }),
    ...(wanted.older && { older: await checkOlder(wanted.older, walked, wanted, findings) }),
  }
  const report = findings.end(details, {
    key: wanted.key === null && 'unasked',
    witness: wanted.witness === null && 'unasked',
    older: wanted.older === null && 'unasked',
    rules: rules.some(({ published }) => !published) && 'unproved',
    links: unproved.length > 0 && 'unproved',
  })
  const about = {
    id: stated.bundle_id ?? null,
    generated_at: stated.generated_at ?? null,
    service_version: stated.service_version ?? null,
    events: chain.size(),
    head_hash: chain.head(),
    root_hash: chain.root(),
    log: note?.origin ?? null,
    rules,
    insufficient_evidence_count: counts.insufficient,
    decisions: decisions.length,
    unproved_decisions: unproved,
    witnessed: wanted.witness && seen ? seen.size : null,
  }
  return { ...report, bundle: about, ...meaning(report, about) }
}

/** What the verification proves and what it does not, in sentences. */
function meaning(
  { checks: results, verified, findings }: Pick<BundleReport, 'checks' | 'verified' | 'findings'>,
  bundle: BundleReport['bundle'],
): Pick<BundleReport, 'proved' | 'open'> {
  const { events, witnessed } = bundle
  const passed = (check: BundleCheck) => results.some((one) => one.check === check && one.result === 'passed')
  if (!verified)
    return {
      proved: [],
      open: findings.every(({ check }) => check === 'links')
        ? ['The bundle itself is intact, but linked decisions are not those that the evidence was linked to.']
        : ['The verification failed: do not rely on anything in this bundle.'],
    }
  const proved = [
    passed('key')
      ? 'The holder of the key that you gave signed exactly these events in this order, and everything else in the bundle: nothing was changed, removed, inserted or moved since.'
      : 'The bundle is consistent: the holder of the key in it signed exactly these events in this order, and everything else in it.',
    'The mappings, insufficiencies and coverage follow from these events by the rules in the bundle.',
  ]
  if (passed('rules')) proved.push('The rules in the bundle are published ones, or those that you gave.')
  if (bundle.decisions > 0 && passed('links'))
    proved.push('By the audit trail of the service, the linked decisions are as they were when they were linked.')
  const open = [
    'Whether the events reported to the service are true: observed events are as reliable as their sources, attested events are self-reported.',
    'Whether time of generation, policy hash, service version and digests of decisions are true: the service states and signs them.',
  ]
  for (const { framework, digest, published } of bundle.rules)
    if (!published)
      open.push(
        `Whether the rules ${shown(framework).slice(0, 80)} are right: this version of cstp does not know their digest ${digest}. Give their file with --rules.`,
      )
  if (bundle.unproved_decisions.length > 0)
    open.push(
      `Whether ${bundle.unproved_decisions.length} linked decisions are as they were when they were linked: they are gone, or no digest was kept.`,
    )
  if (!passed('key'))
    open.unshift(
      'Who made the bundle: anyone can rewrite a chain and sign it with their own key. Give the log’s key with --key.',
    )
  if (passed('witness'))
    proved.push(
      witnessed === events
        ? 'The witness saw this state of the log, and no contradiction to it.'
        : `The witness saw the log when it had the first ${witnessed} of these events, and no contradiction to it.`,
    )
  if (passed('older')) proved.push('Nothing of the older bundle was removed or rewritten.')
  if (!passed('witness') && !passed('older'))
    open.push(
      'Whether the log showed others a different history, or was cut off at its end: check with --witness and --against.',
    )
  return { proved, open }
}
