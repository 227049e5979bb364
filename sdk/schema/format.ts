/** The version of the data format. */

/**
 * Version of everything that a service stores or gives out as a file: decision files, backups, exports, bundles, dossiers and receipts. A file
 * without a version has version 1. Every later service reads what an earlier one wrote; an earlier one refuses what a later one wrote.
 */
export const dataFormat = 1 as const
