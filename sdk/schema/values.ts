/** The values of fields that have few: plain data, so that it can be used anywhere, a browser included. */

/** Stakes, from the least to the most. */
export const stakesValues = ['low', 'medium', 'high', 'critical'] as const
/** The outcomes of decisions. */
export const outcomeValues = ['success', 'failure', 'partial', 'abandoned'] as const
/** The states of a decision. */
export const statusValues = ['pending', 'reviewed'] as const
/** Who settled an outcome: the recorder, another agent, or evidence. An outcome settled by age alone enters no score. */
export const settlers = ['self', 'others', 'observed', 'age'] as const
/** Who settled an outcome. */
export type Settler = (typeof settlers)[number]
