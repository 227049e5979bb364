/** The most tokens that a text can have in any model: an estimate that is too high rather than too low. */

/** Runs of one kind: letters, digits, line breaks, blanks, and every other sign by itself. One blank belongs to the word or sign after it, but not to a number. */
const runs = /\p{L}+| ?\p{N}+|\n+|[^\S\n]{2,}|[^\s\p{L}\p{N}]|[^\S\n ]/gu
/** Parts of a word as tokenizers split it: `createHTTPServer` is create, HTTP, Server. */
const parts = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]/g
const utf8 = new TextEncoder()

/** Letters of the longest word that is one token in every tokenizer; tokens of longer words have at least as many on average. */
const lettersPerToken = 4

/** Letters without a vowel are not a word: each counts as a token. */
const ofPart = (part: string): number =>
  /[aeiouy]/i.test(part) ? Math.ceil(part.length / lettersPerToken) : part.length

function ofRun(run: string): number {
  if (/^[A-Za-z]+$/.test(run)) return run.match(parts)!.reduce((sum, part) => sum + ofPart(part), 0)
  // No byte-level tokenizer makes more than one token of a byte.
  return utf8.encode(run).length
}

/**
 * An upper bound for the tokens of prose, code, ids and numbers: one for four letters of a word, one for each digit and sign, and one
 * for each UTF-8 byte of other scripts. With WordPiece and byte-pair encodings, prose has a third fewer. Only letters that form no
 * word of any language can have more.
 */
export const maxTokens = (text: string): number => (text.match(runs) ?? []).reduce((sum, run) => sum + ofRun(run), 0)
