/**
 * Whether a text reads like instructions to a model. A hint, for readers and for rules: what holds is that texts of others are quoted and
 * marked as theirs, whatever they say.
 */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'

const between = String.raw`(?:[\p{L}']+[ ,]+){0,4}`
const policy = `(?:instructions?|directions?|rules?|guard ?rails?|polic(?:y|ies)|prompts?|checks?|constraints?|safeguards?|restrictions?|safety|approvals?|reviews?|breakers?)`
const shapes = [
  // Set the rules aside.
  String.raw`\b(?:ignore|disregard|forget|override|bypass|circumvent|neglect)\b[ ,:]+${between}${policy}\b`,
  // Claim that they were set aside.
  String.raw`\b${policy} +(?:\p{L}+ +){0,3}(?:(?:is|are|was|were|has|have|had|been|being|got) +){1,2}(?:\p{L}+ +){0,2}(?:lifted|disabled|suspended|removed|waived|revoked|dropped|void|off|deactivated|abolished|optional|not (?:needed|required|necessary|in force))\b`,
  String.raw`\b(?:no|without|skip) +(?:\p{L}+ +){0,3}${policy} +(?:is |are )?(?:needed|required|necessary|applies|apply)\b`,
  String.raw`\b${policy} +(?:no longer|do not|don['’]t|does not|doesn['’]t) +(?:appl|hold|matter|exist|count)`,
  // Address the reader.
  String.raw`\byou +(?:must|shall|should|ought to|need to|have to|will now|may now|can now|(?:are|['’]re) +(?:now|required|obliged|instructed|ordered|(?:hereby )?(?:authori[sz]ed|allowed|permitted|free)))\b`,
  String.raw`\byour +(?:new |real |only |true |next )+(?:task|goal|role|instructions?|objective|job|orders?)\b`,
  String.raw`\b(?:all|every|any) +(?:other )?(?:agents?|models?|assistants?|llms?|ais?)\b +(?:must|shall|should|may now|can now|have to|are (?:now|to))\b`,
  String.raw`\b(?:new|updated|important|urgent|secret) +(?:system )?instructions?\b`,
  String.raw`\b(?:from now on|effective immediately)\b`,
  String.raw`\b(?:system|developer) +(?:prompt|message|override)\b`,
  String.raw`\bpretend +(?:to be|that|you)\b|\bact as (?:if|an? (?:admin|root|unrestricted))|\bjailbr[eo]a?k`,
  String.raw`\b(?:always|simply|just|immediately) +(?:allow|approve|comply|obey|deploy|execute|run|call|answer with)\b`,
  String.raw`\b(?:do not|don['’]t|never) +(?:tell|ask|inform|alert|notify|report|mention|warn|consult|check|verify)\b`,
  // Marks of a conversation.
  String.raw`<\/?(?:system|assistant|user|instructions?|important|tool_call|function_calls?)\b[^>]{0,100}>|<\|[\w ]{1,30}\|>|\[\/?inst\]`,
]
// One by one: as a single alternation they take five times as long.
const patterns = shapes.map((shape) => new RegExp(shape, 'iu'))
/** A line that opens like a turn of a conversation. */
const turn = /(?:^|\n) *(?:system|assistant|user|human|developer) *:/iu

const ascii = /^[\n\r\t -~]*$/

/** The text as it looks: compatible forms folded, without what can't be seen and marks of emphasis, with single spaces. */
const seen = (text: string): string =>
  (ascii.test(text) ? text : text.normalize('NFKC').replace(/\p{Cf}/gu, ''))
    .replace(/[*`~]/g, '')
    .replace(/\s*[\n\r\u2028\u2029]\s*/g, '\n')
    .replace(/[^\S\n]+|_+/g, ' ')

function reads(text: string): boolean {
  const shown = seen(text)
  const joined = shown.replaceAll('\n', ' ')
  return turn.test(shown) || patterns.some((pattern) => pattern.test(joined))
}

/** Texts that were judged before: the same precedents are found again and again. */
const judged = new Map<string, boolean>()
/** Characters: about 5 000 records of usual length. */
const mostJudgedLength = 16_000_000
let judgedLength = 0

/** Whether one of the texts reads like instructions to a model. */
export function instructionLike(texts: readonly string[]): boolean {
  // No text runs on into the next: what parts them is no space.
  const key = texts.join('\0')
  const known = judged.get(key)
  if (known !== undefined) return known
  const found = texts.some(reads)
  judgedLength += key.length
  if (judgedLength > mostJudgedLength) {
    judged.clear()
    judgedLength = key.length
  }
  judged.set(key, found)
  return found
}

type Texts = Pick<
  DecisionRecord,
  'decision' | 'context' | 'pattern' | 'lessons' | 'actual_result' | 'reasons' | 'tags' | 'category'
>

/** The texts of a decision that another agent may read. */
export const textsOf = (record: Texts): string[] => {
  const { decision, context, pattern, lessons, actual_result, reasons, tags, category } = record
  return [
    decision,
    context,
    pattern,
    lessons,
    actual_result,
    category,
    ...tags,
    ...reasons.map(({ text }) => text),
  ].filter((text) => text !== null)
}

/** All texts inside a value, its keys too. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}
