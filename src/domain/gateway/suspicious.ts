/** Finds text that a person doesn't see or that addresses the model: in descriptions of tools, and in what tools return. A finding is a hint, no proof. */
import { visibleText } from '../../core/quote.ts'

/** What a text holds, in words for a person or a model. */
export type Finding = string

const comment = /<!--[\s\S]{0,2000}?-->/

/**
 * Sentences that a description of a tool, or data, has no reason to contain. Each is short and bounded, so that matching takes time in
 * proportion to the text.
 */
const instructions: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\s{1,4}(?:all\s{1,4}|any\s{1,4}|the\s{1,4}|your\s{1,4}|these\s{1,4}){0,3}(?:previous|prior|above|earlier|preceding|system|other)\s{1,4}(?:instructions?|prompts?|rules?|messages?|directions?)\b/i,
  /\b(?:do\s{1,4}not|don't|never)\s{1,4}(?:tell|inform|mention\s{1,4}(?:this\s{1,4}|it\s{1,4}){0,1}to|reveal\s{1,4}(?:this\s{1,4}|it\s{1,4}){0,1}to|notify|alert)\s{1,4}the\s{1,4}(?:user|human|operator)\b/i,
  /\byou\s{1,4}(?:are\s{1,4}now|must\s{1,4}now|will\s{1,4}now)\s{1,4}(?:an?\s{1,4}|in\s{1,4}|act\b)/i,
  /\bnew\s{1,4}(?:system\s{1,4})?(?:instructions?|prompt)\s{0,4}:/i,
  /<\/?(?:system|important|instructions?|assistant|admin)>/i,
  /\[\/?(?:INST|SYSTEM)\]|<\|(?:im_start|im_end|system|endoftext)\|>/i,
  /\bbefore\s{1,4}(?:using|calling|answering\s{1,4}with|you\s{1,4}(?:use|call))\s{1,4}(?:this|any|the)\s{1,4}(?:other\s{1,4})?tools?\b[^.\n]{0,80}\b(?:read|send|include|pass|fetch|open|upload)\b/i,
]

const maxSearched = 262_144
const maxCharacters = 5

/** @param text at most its first 262 144 characters are searched */
export function findingsIn(text: string): Finding[] {
  const searched = text.slice(0, maxSearched)
  const found: Finding[] = []
  const hidden = new Set([...visibleText(searched).matchAll(/⟨U\+[0-9A-F]{4,6}⟩/g)].map(([shown]) => shown))
  for (const [shown] of searched.matchAll(/⟨U\+[0-9A-F]{4,6}⟩/g)) hidden.delete(shown)
  if (hidden.size > 0) found.push(`invisible characters (${[...hidden].slice(0, maxCharacters).join(' ')})`)
  if (comment.test(searched)) found.push('a hidden comment')
  const sentence = instructions.map((shape) => shape.exec(searched)?.[0]).find((one) => one !== undefined)
  if (sentence !== undefined)
    found.push(`a sentence that reads as an instruction to the model ("${sentence.slice(0, 60)}")`)
  return found
}

/** The findings in all texts and keys of a JSON value. */
export function findingsInValue(value: unknown): Finding[] {
  const texts: string[] = []
  const visit = (one: unknown): void => {
    if (typeof one === 'string') texts.push(one)
    else if (Array.isArray(one)) one.forEach(visit)
    else if (one !== null && typeof one === 'object')
      for (const [key, item] of Object.entries(one)) {
        texts.push(key)
        visit(item)
      }
  }
  visit(value)
  return findingsIn(texts.join('\n'))
}
