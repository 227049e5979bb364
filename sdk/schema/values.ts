/** The values of fields that have few: plain data, so that it can be used anywhere, a browser included. */

/** Stakes, from the least to the most. */
export const stakesValues = ['low', 'medium', 'high', 'critical'] as const
/** The outcomes of decisions. */
export const outcomeValues = ['success', 'failure', 'partial', 'abandoned'] as const
/** The states of a decision. */
export const statusValues = ['pending', 'reviewed'] as const
/**
 * Who settled an outcome: the recorder, another agent, a curator who gave a reason, observed events, or events inferred from them. An outcome
 * settled by age alone enters no score.
 */
export const settlers = ['self', 'others', 'observed', 'age', 'inferred', 'curator'] as const
/** Who settled an outcome. */
export type Settler = (typeof settlers)[number]
/** Who settled an outcome, as answers name it: evidence, somebody else than the recorder, or the recorder. */
export const settlements = ['evidence', 'others', 'self'] as const
/** Who settled an outcome, as answers name it. */
export type Settlement = (typeof settlements)[number]
