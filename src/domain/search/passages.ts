/** A long text in passages of whole sentences, each short enough to be embedded whole. */
import { head } from '../record/decision/bridge.ts'

const sentenceEnd = /[.!?](?=\s|$)|[。！？\n]/g
/** A passage ends with the sentence that reaches this many characters: shorter passages say too little. */
const least = 450
/** About how many characters of a text small models read. */
export const maxRead = 1_000
/** Most passages, as their cost grows with their number. */
const most = 12

/** The first passages of a text; none if it is empty. */
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
