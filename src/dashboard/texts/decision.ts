/** The texts of the page of one decision. */

import type { EdgeType, ReviewDecisionResult } from '../../../sdk/client.ts'
import { counted, cut, whole } from '../figures.ts'
import { labels } from './labels.ts'
import type { Mark, Part } from './mark.ts'

/** A review that another one outweighs. */
export const keptAsRemark = ({ outcome, settled_by, counted_by }: ReviewDecisionResult): string =>
  `Kept as a remark; ${settled_by === 'evidence' ? 'evidence' : `the review by ${counted_by}`} counts: ${outcome}.`

/** Relation of a link's source to its target, and the reverse. */
const relations: Record<EdgeType, readonly [from: string, to: string]> = {
  relates_to: ['related to', 'related to'],
  supersedes: ['supersedes', 'superseded by'],
  depends_on: ['depends on', 'needed by'],
  contradicts: ['contradicts', 'contradicted by'],
  refines: ['refines', 'refined by'],
  caused_by: ['caused by', 'cause of'],
  blocks: ['blocks', 'blocked by'],
}

export const graph = {
  none: 'This decision has no links. Agents link decisions with cstp.linkDecisions.',
  steps: 'Steps from here',
  picture: 'Decisions and their links',
  layer: (step: number) => (step === 0 ? 'This decision' : `${counted(step, 'step')} away`),
  relations,
  more: (count: number) => `+${whole(count)}`,
  open: (count: number, title: string) => `Show ${counted(count, 'more decision')} linked with ${title}`,
  less: '−',
  close: (title: string) => `Show fewer decisions linked with ${title}`,
  ineffective: 'without effect',
  truncated: (count: number) => `Only the nearest ${whole(count)} decisions are known here.`,
  list: 'Show as a list',
  dismissed: (other: Part, by: string, at: string, reason: string | null) => [
    'Contradiction with ',
    other,
    ` dismissed by ${by}, ${at}${reason ? `: ${reason}` : ''}`,
  ],
}

export const decision = {
  ...labels,
  id: 'Id',
  status: 'Status',
  quality: 'Quality',
  scoredConfidence: 'Scored confidence',
  files: 'Files',
  reviewIn: 'Review in',
  reviewBy: 'Review by',
  precedentsQueried: 'Precedents queried',
  guardrailsChecked: 'Guardrails checked',
  agentId: 'Agent id',
  importedBy: 'Imported by',
  sourceKey: 'Source key',
  preserved: 'Kept at full detail',
  held: 'Legal hold',
  attributed: 'Attributed',
  lastChange: 'Last change',
  missing: 'Missing for quality',
  supersededBy: 'Superseded by',
  reviewDue: (review_by: string) => `review due ${review_by}`,
  allDecisions: 'All decisions',
  strength: (strength: string) => `strength ${strength}`,
  alternatives: 'Alternatives',
  precedentsLead: 'Found before the decision, nearest first.',
  byKeywords: 'by keywords',
  bridge: 'Bridge',
  bridgeLead: 'What is a bridge?',
  tolerance: 'Does not matter',
  enforcement: 'Must be there',
  prevention: 'Must not be there',
  bridgeByRules: 'Extracted from the text by rules.',
  bridgeGiven: 'Given by the agent.',
  record: 'Record',
  linkedDecisions: 'Linked decisions',
  linksLead: 'Follow a link to the graph of another decision.',
  notRecorded: (parts: string) => `Not recorded: ${parts}.`,
  history: 'History',
  onThisPage: 'On this page',
}

export const dossier = {
  erased: 'Its content was erased.',
  notProved: (reason: string) => `Not proved: ${reason}.`,
  unchecked: 'Not checked here: browsers compute hashes only over TLS or on localhost.',
  content: 'content',
  contentErased: 'content erased',
  inLog: (size: string) => `in the log of ${size} acts`,
  signature: 'signature',
  notSigned: (name: string) => `The checkpoint is not signed by the key of ${name}.`,
  key: 'Key of the log, as you were given it',
  keyHint: 'name+hash+base64',
  pin: 'Check signatures',
  pinShown: 'Use the key that this service shows',
  pinned: (name: string) => `Signatures are checked with the pinned key of ${name}.`,
  notPinned: 'Signatures are not checked yet. A key from somewhere else than this service proves most.',
  otherKey: 'This service shows another key than the pinned one.',
  forget: 'Forget the key',
  noEd25519: 'This browser does not know Ed25519. cstp verify checks the signatures.',
  theDecision: 'The decision',
  generated: (at: string) => `as of ${at}`,
  policy: 'Policy as it was',
  noPolicy: 'Its action was not checked against rules.',
  verdict: 'Verdict',
  rulesFired: 'Rules that fired',
  inForce: 'In force',
  from: (from: string, until: string | null) => `from ${from}${until ? ` until ${until}` : ''}`,
  policyHash: 'Policy hash',
  noEvidence: 'No event concerns it.',
  outcomeAndScore: 'Outcome and score',
  settledBy: 'Reviewed by',
  score: 'Score',
  scored: (confidence: string, value: string, brier: string) =>
    `said ${confidence}, outcome ${value}: Brier score ${brier}`,
  download: 'Download the signed file',
  verifyLine: (file: string) => `cstp verify ${file}`,
  digest: 'SHA-256 of the file:',
  signedBy: 'Signed by',
  print: 'Print',
  someWrong: (wrong: string, receipts: string) => `${wrong} of ${receipts} can't be proved.`,
  allProved: (receipts: string) => `${receipts}, each in the signed log.`,
  pending: 'Others have no place in the log yet. ',
  withheld: (withheld: string) => `${withheld} of other agents may not be shown to you.`,
  acts: 'Acts',
  actsLead: 'In the order of the log. Content, path and the signature of the checkpoint are checked in this browser.',
  none: 'Nothing of this decision is in the log.',
  details: 'Content and proof',
}

export const review = {
  ...labels,
  notes: 'Notes',
  reviewed: (result: ReviewDecisionResult) => (result.counts ? `Reviewed: ${result.outcome}.` : keptAsRemark(result)),
  due: (review_by: string) => `Not reviewed yet; due ${review_by}.`,
  outcomes: { success: 'Success', partial: 'Partial', failure: 'Failure', abandoned: 'Abandoned' },
  saved: (title: string, outcome: string) => `“${cut(title)}”, ${outcome.toLowerCase()}`,
  proposed: (reason: string) => `Evidence: ${reason}.`,
  accept: (outcome: string) => `${outcome}?`,
  cancel: 'Cancel',
  lesson: 'What should be done differently next time? Press Failure again to save it without a lesson.',
  nextTime: 'Next time',
  start: 'Review this decision',
  again: 'Review it again',
}

export const decisionEvidence = {
  proof: (seq: number) => `Proof of event ${seq}`,
  event: (type: Part, seq: Part) => [type, ', event ', seq],
  from: (source: string, when: Part) => [`from ${source}, `, when],
  evidence: 'Evidence',
  lead: (observed: Mark, attested: Mark) => [
    observed('Observed'),
    ' events from other systems, and the ',
    attested('attested'),
    ' records of agents that link them to this decision.',
  ],
  none: 'No evidence is linked. Agents link evidence with cstp.linkEvidence.',
  more: (left: string) => `and ${left} more events`,
  searched: (mostPages: string) => `Only the first ${mostPages} links of the chain were searched.`,
}

export const thoughts = {
  deliberation: 'Deliberation',
  inOrder: 'What the agent looked up and thought, in order.',
  asGiven: 'What the agent looked up and thought. Some entries have no time, so they are listed in the order given.',
  none: 'Nothing was tracked before this decision.',
  label: 'Add a thought',
  add: 'Add the thought',
  added: 'Added.',
}

export const history = {
  decided: 'decided, as the import says',
  changed: 'changed',
  before: (name: string) => `${name}, before:`,
  reviewed: 'reviewed',
  uncounted: '(does not count)',
  title: 'History',
}
