/** Ids of acts that answers name: they follow from what was done. */

/** The id of a decision's state. @param revision 1 for the decision as it was recorded */
export const stateId = (decision_id: string, revision: number): string => `${decision_id}@${revision}`

/** The id of a step that an approval takes once. */
export const approvalStepId = (approval: string, step: 'requested' | 'decided'): string => `${approval}/${step}`
