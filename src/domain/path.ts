/** Where a record's file stands. */

/** Path relative to the data directory. @see interface "cstp.recordDecision" */
export const pathOf = (id: string): string => `decisions/${id.slice(0, 4)}/${id.slice(5, 7)}/${id}.yaml`
