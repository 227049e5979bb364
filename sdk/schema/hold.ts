/** Legal holds on the wire. */
import * as v from 'valibot'

const d = v.description

/** A legal hold: while there is one, the decision is not erased. */
export const Hold = v.object({
  by: v.pipe(v.string(), d('The curator who set it.')),
  reason: v.pipe(v.string(), d('Why.')),
  since: v.pipe(v.string(), d('When, RFC 3339, UTC.')),
})
/** A legal hold: while there is one, the decision is not erased. */
export type Hold = v.InferOutput<typeof Hold>
