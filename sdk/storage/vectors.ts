/** The vectors of a decision: one for each text by which it is found. */

/** The three texts of a decision that have a vector. */
export const sides = ['structure', 'function', 'both'] as const
/** The text of a decision that a vector represents. */
export type Side = (typeof sides)[number]

/** Three unit vectors of one length. Sides of equal text may be the same array. */
export type VectorSet = Record<Side, Float32Array>
