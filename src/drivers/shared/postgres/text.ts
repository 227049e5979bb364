/**
 * Texts in PostgreSQL, whose `text` has no NUL: it is stored as two characters U+0001, and U+0001 as U+0001 U+0002, which loses nothing and
 * keeps the order. Half of a surrogate pair has no UTF-8: it becomes U+FFFD.
 */

export const toText = <T extends string | null>(given: T): T =>
  (given === null
    ? null
    : given.toWellFormed().replaceAll('\u0001', '\u0001\u0002').replaceAll('\u0000', '\u0001\u0001')) as T

export const fromText = <T extends string | null>(stored: T): T =>
  (stored?.includes('\u0001')
    ? // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      stored.replace(/\u0001([\u0001\u0002])/g, (_, mark) => (mark === '\u0001' ? '\u0000' : '\u0001'))
    : stored) as T
