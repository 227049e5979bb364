/** A long text in passages of whole sentences, each short enough to be embedded whole. */
import { head } from '../decision/bridge.ts'

const sentenceEnd = /[.!?](?=\s|$)|[。！？\n]/g
/** A passage ends with the sentence that reaches so many characters: shorter ones say too little by themselves. */
const least = 450
/** Characters that small models read of a text, about. */
export const maxRead = 1_000
/** Limit of passages: what they cost grows with their number. */
const most = 12

/** The first passages of a text; none of an empty one. */
export function passagesOf(text: string): string[] {
  const passages: string[] = []
  let start = 0
  const end = (at: number): void => {
    const passage = text.slice(start, at).trim()
    if (passage !== '' && passages.length < most) passages.push(passage.toWellFormed())
    start = at
  }
  const cutTo = (limit: number): void => {
    while (limit - start > maxRead && passages.length < most)
      end(start + head(text.slice(start, start + maxRead), maxRead).length)
  }
  for (const { index } of text.matchAll(sentenceEnd)) {
    if (passages.length === most) break
    cutTo(index + 1)
    if (index + 1 - start >= least) end(index + 1)
  }
  cutTo(text.length)
  end(text.length)
  return passages
}
