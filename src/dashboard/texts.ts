/** The texts of the frame and of the pages in one language; sentences with figures or links are functions, so that another language can order them. */
import * as amounts from './texts/amounts.ts'
import * as approvals from './texts/approvals.ts'
import * as calibration from './texts/calibration.ts'
import * as decision from './texts/decision.ts'
import * as decisions from './texts/decisions.ts'
import * as deliberation from './texts/deliberation.ts'
import * as evidence from './texts/evidence.ts'
import * as frame from './texts/frame.ts'
import * as inbox from './texts/inbox.ts'
import { verdicts } from './texts/labels.ts'
import * as pins from './texts/pins.ts'
import * as policy from './texts/policy.ts'
import * as today from './texts/today.ts'
import * as trust from './texts/trust.ts'
import * as write from './texts/write.ts'

/** By the name of the page or part that shows them. */
export const texts = {
  ...amounts,
  ...approvals,
  ...calibration,
  ...decision,
  ...decisions,
  ...deliberation,
  ...evidence,
  ...frame,
  ...inbox,
  ...pins,
  ...policy,
  ...today,
  ...trust,
  ...write,
  verdicts,
}
