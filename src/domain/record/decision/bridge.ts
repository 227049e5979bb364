/** Bridge extraction: what a decision looks like and what it is for, by rule, in time linear in the text. */
import type { Bridge, DecisionRecord, Reason } from '../../../../sdk/schema/decision.ts'

const structureLength = 300
/** Most characters on each side of a bridge, the same as for a given bridge. */
const maxSideLength = 10_000
const sentenceEnd = /[.!?](?=\s|$)|[。！？]|\n\s*\n/g
const purposeReasons = new Set(['analysis', 'constraint', 'pattern'])
/** "to" after one of these introduces a thing, also if that has the name of a verb ("due to load", "add retries to release"). */
const noPurposeBefore = new Set(
  'switch switched move moved migrate migrated change changed convert converted back due up according relative close related prior next'.split(
    ' ',
  ),
)
/** Verbs that are no nouns. */
const verbs = new Set(
  'accept achieve act adapt add adopt align allow analyse analyze answer apply ask assign avoid be become begin block bring build buy bypass calculate call catch choose clarify clean close collect combine compare complete comply compute confirm connect consume contain continue convert correct create cut decide decouple decrease defend define delay delete deliver deny deploy detect determine disable discover do drop ease eliminate enable encourage enforce ensure erase evaluate exceed exclude execute expand explain explore expose extend fail find fix follow forbid force get give go grow guarantee handle have help hide hold identify ignore improve include increase inform inspect install integrate isolate join justify keep know learn leave let lower maintain make meet merge migrate mitigate monitor move obtain offer open overcome own pay perform permit persist prefer prepare prevent produce prohibit protect prove provide publish pull push put read rebuild receive recover reduce refuse reject remain remove render replace reply require resolve respect respond restore restrict retrieve reuse reveal revert rewrite run satisfy save see sell send separate serve share ship show shrink simplify slow solve speed spread stay stop store strengthen succeed suit supply survive sustain swap take tell throttle tolerate track train transform translate treat trust try tune understand unify update upgrade use validate verify wait warn win withstand work write'.split(
    ' ',
  ),
)
/** Another word is a verb if one of these follows, and begins what it acts on. */
const determiners = new Set(
  'the a an this these those it them us our its their his her your my all any each every both some no more less fewer most'.split(
    ' ',
  ),
)
const adverbs = new Set('not never always also better only just still even safely quickly fully really'.split(' '))

/** Whether a text begins with a verb in its base form. */
function beginsWithVerb(text: string): boolean {
  const [first, second] = text.slice(0, 200).split(/[^\p{L}'-]+/u)
  if (first === undefined) return false
  return adverbs.has(first.toLowerCase()) ? second !== undefined : isVerb(first, second)
}

function isVerb(word: string, next: string | undefined): boolean {
  if (/[^a-z-]|[^s]s$/.test(word)) return false
  const base = word.replace(/^(?:re|un|over|pre|auto|co)-?(?=.{3})/, '')
  return (
    verbs.has(word) ||
    verbs.has(base) ||
    /[a-z]{2}(?:ize|ise|ify)$/.test(word) ||
    determiners.has(next?.toLowerCase() ?? '')
  )
}

/** The first `most` characters; a surrogate pair is not split. */
export const head = (text: string, most: number): string =>
  text.slice(0, /[\ud800-\udbff]/.test(text[most - 1] ?? '') ? most - 1 : most)

/** The text up to the end of the sentence that reaches `least` characters. @param text without leading white space */
function sentences(text: string, least: number): string {
  sentenceEnd.lastIndex = 0
  for (let match = sentenceEnd.exec(text); match; match = sentenceEnd.exec(text)) {
    const end = match.index + 1
    if (end >= least) return text.slice(0, end).trim()
  }
  return text.trim()
}

/** The first "so that …", "in order to …" or "because …", else the first "to" before a verb, up to the end of its clause. */
function purposeClause(text: string): string | null {
  return clauseAfter(text, /\b(?:so that|in order to|because)\s+(?=\S)/gi) ?? clauseAfter(text, /\bto\s+(?=\S)/gi, true)
}

function clauseAfter(text: string, word: RegExp, before_verb = false): string | null {
  for (const match of text.matchAll(word)) {
    if (before_verb) {
      const before = /(?<![a-z])([a-z]+)\s*$/i.exec(text.slice(Math.max(0, match.index - 24), match.index))?.[1]
      const after = match.index + match[0].length
      if (noPurposeBefore.has(before?.toLowerCase() ?? '') || !beginsWithVerb(text.slice(after, after + 200))) continue
    }
    const rest = head(text.slice(match.index, match.index + 501), 500)
    const clause = /^[^.!?;\n]+(?:\.(?=\S)[^.!?;\n]*)*/.exec(rest)?.[0].trim()
    if (clause && clause.split(/\s+/).length > 1) return clause
  }
  return null
}

/** The strongest reason whose type states a purpose; the first of equally strong ones. */
function purposeReason(reasons: readonly Reason[]): string | null {
  const [best] = reasons
    .filter(({ type, text }) => purposeReasons.has(type) && text.trim() !== '')
    .sort((a, b) => b.strength - a.strength)
  return best?.text ?? null
}

/** Extracts a bridge from the fields of a decision. Deterministic. */
export function extractBridge(given: {
  decision: string
  context: string | null
  pattern: string | null
  reasons: readonly Reason[]
}): Bridge {
  const context = given.context?.trim() || null
  const structure = sentences(given.decision.trim(), structureLength)
  const purpose =
    (given.pattern?.trim() || null) ??
    purposeReason(given.reasons) ??
    purposeClause(given.decision) ??
    (context && purposeClause(context)) ??
    (context && sentences(context, 1)) ??
    structure
  return {
    structure: head(structure, maxSideLength),
    function: head(purpose.trim(), maxSideLength),
    tolerance: [],
    enforcement: [],
    prevention: [],
  }
}

// Detects text that reads like instructions to a model. This is a hint for readers and for rules; the protection is that texts of others
// are always quoted and marked as theirs, whatever they say.

const between = String.raw`(?:[\p{L}']+[ ,]+){0,4}`
const policy = `(?:instructions?|directions?|rules?|guard ?rails?|polic(?:y|ies)|prompts?|checks?|constraints?|safeguards?|restrictions?|safety|approvals?|reviews?|breakers?)`
/** Word lists: a text of this shape has, for each list, a word that begins like one of its words. Few texts do, so few shapes are tried. */
type Needs = readonly string[]
const policies =
  'instructions directions rules guardrails policies prompts checks constraints safeguards restrictions safety approvals reviews breakers'
export const shapes: readonly (readonly [needs: Needs, shape: string])[] = [
  // Set the rules aside.
  [
    ['ignore disregard forget override bypass circumvent neglect', policies],
    String.raw`\b(?:ignore|disregard|forget|override|bypass|circumvent|neglect)\b[ ,:]+${between}${policy}\b`,
  ],
  // Claim that they were set aside.
  [
    [policies, 'lifted disabled suspended removed waived revoked dropped void off deactivated abolished optional not'],
    String.raw`\b${policy} +(?:\p{L}+ +){0,3}(?:(?:is|are|was|were|has|have|had|been|being|got) +){1,2}(?:\p{L}+ +){0,2}(?:lifted|disabled|suspended|removed|waived|revoked|dropped|void|off|deactivated|abolished|optional|not (?:needed|required|necessary|in force))\b`,
  ],
  [
    ['no without skip', policies, 'needed required necessary applies'],
    String.raw`\b(?:no|without|skip) +(?:\p{L}+ +){0,3}${policy} +(?:is |are )?(?:needed|required|necessary|applies|apply)\b`,
  ],
  [
    [policies, 'no do don does', 'apply hold matter exist count'],
    String.raw`\b${policy} +(?:no longer|do not|don['’]t|does not|doesn['’]t) +(?:appl|hold|matter|exist|count)`,
  ],
  // Address the reader.
  [
    ['you', 'must shall should ought need have will may can are re'],
    String.raw`\byou +(?:must|shall|should|ought to|need to|have to|will now|may now|can now|(?:are|['’]re) +(?:now|required|obliged|instructed|ordered|(?:hereby )?(?:authori[sz]ed|allowed|permitted|free)))\b`,
  ],
  [
    ['your', 'task goal role instructions objective job orders'],
    String.raw`\byour +(?:new |real |only |true |next )+(?:task|goal|role|instructions?|objective|job|orders?)\b`,
  ],
  [
    ['all every any', 'agents models assistants llm llms ai ais'],
    String.raw`\b(?:all|every|any) +(?:other )?(?:agents?|models?|assistants?|llms?|ais?)\b +(?:must|shall|should|may now|can now|have to|are (?:now|to))\b`,
  ],
  [
    ['new updated important urgent secret', 'instructions'],
    String.raw`\b(?:new|updated|important|urgent|secret) +(?:system )?instructions?\b`,
  ],
  [['from effective', 'now immediately'], String.raw`\b(?:from now on|effective immediately)\b`],
  [['system developer', 'prompt message override'], String.raw`\b(?:system|developer) +(?:prompt|message|override)\b`],
  [
    ['pretend act jailbreak'],
    String.raw`\bpretend +(?:to be|that|you)\b|\bact as (?:if|an? (?:admin|root|unrestricted))|\bjailbr[eo]a?k`,
  ],
  [
    ['always simply just immediately', 'allow approve comply obey deploy execute run call answer'],
    String.raw`\b(?:always|simply|just|immediately) +(?:allow|approve|comply|obey|deploy|execute|run|call|answer with)\b`,
  ],
  [
    ['do don never', 'tell ask inform alert notify report mention warn consult check verify'],
    String.raw`\b(?:do not|don['’]t|never) +(?:tell|ask|inform|alert|notify|report|mention|warn|consult|check|verify)\b`,
  ],
  // Markup of a conversation.
  [
    [],
    String.raw`<\/?(?:system|assistant|user|instructions?|important|tool_call|function_calls?)\b[^>]{0,100}>|<\|[\w ]{1,30}\|>|\[\/?inst\]`,
  ],
]

/** For each combination of the first three letters, the bits of the lists with such a word; the third is 0 for a two-letter word. */
const bitsOf = new Int32Array(27 ** 3)
const lists = [...new Set(shapes.flatMap(([needs]) => needs))]
const letterOf = new Uint8Array(128)
for (let letter = 1; letter <= 26; letter++) letterOf[64 + letter] = letterOf[96 + letter] = letter
const placeOf = (first: number, second: number, third: number): number => (first * 27 + second) * 27 + third
lists.forEach((list, bit) => {
  for (const word of list.split(' ')) {
    const [first, second, third = 0] = Array.from(word, (letter) => letterOf[letter.charCodeAt(0)]!)
    bitsOf[placeOf(first!, second!, third)]! |= 1 << bit
  }
})

/** The bits of all lists from which a text has a word. */
function bitsIn(text: string): number {
  let bits = 0
  let before = 0
  for (let at = 0; at + 1 < text.length; at++) {
    const unit = text.charCodeAt(at)
    const first = unit < 128 ? letterOf[unit]! : 0
    const begins = before === 0
    // Anything but a letter, digit or underscore ends a word.
    before = first !== 0 || (unit >= 48 && unit <= 57) || unit === 95 ? 1 : 0
    if (first === 0 || !begins) continue
    const next = text.charCodeAt(at + 1)
    const last = at + 2 < text.length ? text.charCodeAt(at + 2) : 0
    const second = next < 128 ? letterOf[next]! : 0
    if (second !== 0) bits |= bitsOf[placeOf(first, second, last < 128 ? letterOf[last]! : 0)]!
  }
  return bits
}

// Separate patterns: a single alternation of them takes five times as long.
const patterns = shapes.map(([needs, shape]) => ({
  needed: needs.reduce((bits, list) => bits | (1 << lists.indexOf(list)), 0),
  pattern: new RegExp(shape, 'iu'),
}))
/** A line that begins like a turn of a conversation. */
const turn = /(?:^|\n) *(?:system|assistant|user|human|developer) *:/iu

const ascii = /^[\n\r\t -~]*$/
/** Matches texts that need normalising: anything but ASCII with single spaces and without emphasis marks. */
const unlike = /[^ !-)+-^a-}]| {2}/

/** The text as readers see it: compatible forms folded, without invisible characters and emphasis marks, with single spaces. */
const seen = (text: string): string =>
  unlike.test(text)
    ? (ascii.test(text) ? text : text.normalize('NFKC').replace(/\p{Cf}/gu, ''))
        .replace(/[*`~]/g, '')
        .replace(/(?<!\s)\s*[\n\r\u2028\u2029]\s*/g, '\n')
        .replace(/[^\S\n]+|_+/g, ' ')
    : text

function reads(text: string): boolean {
  const shown = seen(text)
  if (shown.includes(':') && turn.test(shown)) return true
  const joined = shown.replaceAll('\n', ' ')
  const bits = bitsIn(joined)
  return patterns.some(({ needed, pattern }) => (bits & needed) === needed && pattern.test(joined))
}

/** Whether one of the texts reads like instructions to a model. Each is read separately. */
export const instructionLike = (texts: readonly string[]): boolean => texts.some(reads)

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

/** All texts inside a value, including its keys. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}
