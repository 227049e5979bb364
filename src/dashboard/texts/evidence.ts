/** The texts of the page Evidence. */
import { whole } from '../figures.ts'
import type { Mark, Part } from './mark.ts'

export const events = {
  title: 'Events',
  type: 'Type',
  class: 'Class',
  both: 'both',
  span: (order: 'asc' | 'desc', first: number, last: number) =>
    `Events ${whole(first)} ${order === 'asc' ? 'to' : 'down to'} ${whole(last)}, ${order === 'asc' ? 'oldest' : 'newest'} first.`,
  /** The link that reverses the order. */
  turned: { asc: 'Newest first', desc: 'Oldest first' },
  none: 'There are no events yet.',
  noMatch: 'No event matches.',
  heads: ['Event', 'Class', 'When', 'Source', 'Payload', 'Proof'],
  prove: 'Prove',
  proveOne: (seq: number) => `Prove event ${seq}`,
  pages: 'Pages of the events',
  next: { asc: 'Later events', desc: 'Earlier events' },
}

export const evidence = {
  coverage: 'Coverage',
  theTwoClasses: 'The two classes of evidence are never added up.',
  observed: 'Observed',
  attested: 'Attested',
  ofEvents: (mapped_events: string, total_events: string) => `${mapped_events} of ${total_events} events`,
  from: (events: string, source: Part) => [`${events} from `, source],
  controls: 'Controls',
  noControl: 'No evidence supports a control yet. Connect GitHub’s webhook, or ingest events with cstp.ingestEvidence.',
  control: 'Control',
  framework: 'Framework',
  insufficient: 'Insufficient',
  supportedBy: 'Supported by',
  noneYet: 'none yet',
  lacking: 'Insufficient evidence',
  noEvents: 'There are no events yet.',
  nothingLacks: 'Every event supports the controls that it should support.',
  whichEvents: 'Which events',
  chain: 'Chain',
  hashed: (records: Part) => [records, ', each with the hash of the one before it.'],
  checkpointTitle: 'Checkpoint and public key',
  checkpoint: (term: Mark, origin: Part, created_at: string) => [
    'A ',
    term('checkpoint'),
    ' of ',
    origin,
    `, signed ${created_at}. Keep it: it proves later whether anything before it was changed.`,
  ],
  verifierKey: 'Verifier key, also at /.well-known/cstp-evidence-key:',
  rootHash: 'Root hash:',
}

export const proof = {
  number: 'Number of the event',
  proveIt: 'Prove it',
  title: 'Proof of one event',
  lead: (term: Mark) => ['The ', term('proof'), ' is recomputed here, in your browser.'],
  empty: 'Enter the number of an event, or choose an event from the list below.',
  proved: (seq: number, size: string) =>
    `Event ${seq} is in the log of ${size} records: the path ends at the signed root.`,
  notProved: 'The path does not end at the signed root: this event is not the one that the log signed.',
  unchecked: 'Browsers compute hashes only over TLS or on localhost. The path is shown unchecked.',
  leaf: (seq: number) => `leaf of event ${seq}:`,
  step: (sibling: Part, side: string, hash: Part) => ['with ', sibling, ` on the ${side}: `, hash],
  root: (size: string) => `root of ${size} records:`,
  checkpoint: 'Signed checkpoint',
}

export const verify = {
  verification: 'Verification',
  verifying: (size: string) => `Verifying ${size}`,
  of: (records: string, total: string) => `${records} of ${total}`,
  verified: (percent: number) => `${percent} % verified`,
  intact: 'Intact.',
  notIntact: 'Not intact.',
  follow: (records: string) => `${records} follow each other without a gap.`,
  breaksAt: (broken_at_seq: number) => `Record ${broken_at_seq} does not follow. `,
  containsHead: ' It contains the head of the latest export.',
  lastVerified: (finished_at: string, records: string, intact: boolean) =>
    `Last verified: ${finished_at} (${records}, ${intact ? 'intact' : 'not intact'}).`,
  start: 'Verify the chain',
}

export const bundle = {
  notFetched: (status: number) => `The file cannot be fetched (HTTP ${status}).`,
  title: 'Bundle',
  lead: 'All evidence with its checkpoint and controls; verify it offline with cstp verify.',
  needsEvidence: 'To export a bundle your agent needs the scope evidence.',
  format: 'Format',
  json: 'JSON, can be verified',
  pdf: 'PDF, for reading',
  start: 'Export a bundle',
  exported: 'Exported. SHA-256',
  download: (path: string) => `Download ${path}`,
}

export const merkle = {
  tooLong: 'The proof is longer than its tree is high.',
  tooShort: 'The proof is shorter than its tree is high.',
  contentChanged: 'the content is not what the log committed to',
  invalidKey: 'Expected a key of the form name+hash+base64, as /.well-known/cstp-evidence-key shows it.',
  wrongRoot: 'the path does not lead to the root of the checkpoint',
}
