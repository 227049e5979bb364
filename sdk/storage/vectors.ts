/** The vectors of a decision: one for each of the texts that it is found by. */

/** The three texts of a decision that have a vector. */
export const sides = ['structure', 'function', 'both'] as const
/** Which text of a decision a vector stands for. */
export type Side = (typeof sides)[number]

/** Three unit vectors of one length. Sides of equal text may be the same array. */
export type VectorSet = Record<Side, Float32Array>
