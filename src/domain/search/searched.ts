/** What of a decision is searched: the one place that decides it, for both legs. */

import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { extractBridge, head } from '../record/decision/bridge.ts'

/** The fields that are searched by meaning. */
export type Embedded = Pick<
  DecisionRecord,
  | 'decision'
  | 'context'
  | 'pattern'
  | 'reasons'
  | 'bridge'
  | 'bridge_method'
  | 'actual_result'
  | 'lessons'
  | 'alternatives_considered'
>

export interface Sides {
  structure: string
  function: string
}

/** The texts that determine a decision's vectors. */
export interface EmbeddedTexts {
  /** The bridge of the record: given, or extracted by the rule. */
  given: Sides
  /** What the rule extracts, if the bridge was given; it is searched beside the given one. */
  own: Sides | null
  /** The other texts, in passages: the context, what happened, what was learned, what was rejected. */
  passages: string[]
}

export function embeddedTexts(record: Embedded): EmbeddedTexts {
  const { bridge, context, actual_result, lessons } = record
  const own = record.bridge_method === 'rule' ? null : extractBridge(record)
  return {
    given: { structure: bridge.structure, function: bridge.function },
    own: own && { structure: own.structure, function: own.function },
    passages: [
      ...passagesOf(context ?? ''),
      ...[actual_result ?? '', lessons ?? '', rejected(record).join('. ')].flatMap((text) =>
        passagesOf(text, mostOfEach),
      ),
    ],
  }
}

/**
 * The texts whose words are searched: all that a person wrote of the decision. A given bridge counts with its words too; one that the rule
 * extracts only repeats others.
 */
export function wordedTexts(record: DecisionRecord): string[] {
  const { decision, context, reasons, tags, pattern, category, actual_result, lessons, bridge } = record
  const given = record.bridge_method === 'rule' ? [] : [bridge.structure, bridge.function]
  const all = [decision, context, pattern, category, actual_result, lessons, ...tags, ...given, ...rejected(record)]
  return [...all.filter((text) => text !== null), ...reasons.map(({ text }) => text)]
}

/** The rejected alternatives, each with the reason against it. */
const rejected = ({ alternatives_considered }: Pick<DecisionRecord, 'alternatives_considered'>): string[] =>
  alternatives_considered.map((one) =>
    typeof one === 'string' ? one : [one.option, one.reason].filter((text) => typeof text === 'string').join(': '),
  )

// A long text in passages of whole sentences, each short enough to be embedded whole.

const sentenceEnd = /[.!?](?=\s|$)|[。！？\n]/g
/** A passage ends with the sentence that reaches this many characters: shorter passages say too little. */
const least = 450
/** About how many characters of a text small models read. */
export const maxRead = 1_000
/** Most passages of the context, as their cost grows with their number. */
const most = 12
/** Most passages of each other text. */
const mostOfEach = 2

/** The first passages of a text; none if it is empty. */
export function passagesOf(text: string, limit = most): string[] {
  const passages: string[] = []
  let start = 0
  const end = (at: number): void => {
    const passage = text.slice(start, at).trim()
    if (passage !== '' && passages.length < limit) passages.push(passage.toWellFormed())
    start = at
  }
  const cutTo = (until: number): void => {
    while (until - start > maxRead && passages.length < limit)
      end(start + head(text.slice(start, start + maxRead), maxRead).length)
  }
  for (const { index } of text.matchAll(sentenceEnd)) {
    if (passages.length === limit) break
    cutTo(index + 1)
    if (index + 1 - start >= least) end(index + 1)
  }
  cutTo(text.length)
  end(text.length)
  return passages
}
