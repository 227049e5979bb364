/** Fields of a decision that no agent recorded. */
import * as v from 'valibot'

const d = v.description

/** Fields of a decision that a hook observed; absent in all others. */
export const observedEntries = {
  source: v.optional(
    v.pipe(
      v.picklist(['hook']),
      d(
        '`hook` if nobody recorded it: a hook of the agent’s client saw it done. It enters no score until it is adopted.',
      ),
    ),
  ),
  adopted_by: v.optional(
    v.pipe(v.string(), d('With `source: hook`: who gave it a confidence, with which it is scored from then on.')),
  ),
} as const
