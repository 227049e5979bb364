/** How many tokens a text has at most: an estimate that is too high rather than too low, for whatever model reads it. */

/** Runs of one kind: letters, digits, line breaks, blanks, and every other sign by itself. One blank joins the word or sign after it, no number. */
const runs = /\p{L}+| ?\p{N}+|\n+|[^\S\n]{2,}|[^\s\p{L}\p{N}]|[^\S\n ]/gu
/** Parts of a word as tokenizers cut it: `createHTTPServer` is create, HTTP, Server. */
const parts = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]/g
const utf8 = new TextEncoder()

/** Longest word that every tokenizer holds whole; of longer ones a token has at least as many letters on average. */
const lettersPerToken = 4

/** Letters without a vowel are no word: they are cut one by one. */
const ofPart = (part: string): number =>
  /[aeiouy]/i.test(part) ? Math.ceil(part.length / lettersPerToken) : part.length

function ofRun(run: string): number {
  if (/^[A-Za-z]+$/.test(run)) return run.match(parts)!.reduce((sum, part) => sum + ofPart(part), 0)
  // No byte-level tokenizer makes more than one token of a byte.
  return utf8.encode(run).length
}

/**
 * At least as many tokens as a text in a language, of code, or of ids and numbers has: its words at four letters a token, every digit
 * and sign by itself, and other scripts by their bytes in UTF-8. Compared with WordPiece and with byte-pair encodings, prose has
 * a third fewer. Only letters that are no words of any language can have more.
 */
export const maxTokens = (text: string): number => (text.match(runs) ?? []).reduce((sum, run) => sum + ofRun(run), 0)
