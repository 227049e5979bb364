/** The checks of a bundle. */
import type { Findings } from './report.ts'

/** Every check with its question, in the order of the report. */
export const bundleChecks = {
  form: 'The file is a bundle, in canonical JSON',
  chain: 'Every event follows the one before it, unchanged',
  head: 'Size, head hash and Merkle root are those of the events',
  checkpoint: 'The checkpoint is of these events, and the key in the bundle signed it',
  signature: 'The key in the bundle signed all of it: rules, conclusions, digests and times too',
  key: 'The key that you gave signed the checkpoint and the bundle',
  witness: 'The witness that you named cosigned the checkpoint',
  conclusions: 'Mappings, insufficiencies and coverage follow from the events by the rules in the bundle',
  rules: 'The rules are published ones, or those that you gave',
  decisions: 'A digest is listed for each linked decision',
  links: 'Each linked decision is as it was when it was linked',
  older: 'The events of the older bundle are the first ones of this one, and its linked decisions are unchanged',
} as const
export type BundleCheck = keyof typeof bundleChecks
export type BundleFindings = Findings<BundleCheck>
