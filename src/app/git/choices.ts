/** What a decision chooses and what it gives up, by its title, so that a later one is found to supersede it. */

export interface Choice {
  chosen: string | null
  dropped: string | null
}

const thing = String.raw`["'“\`]?([\w@][\w@./+#:-]*(?: [\w@./+#-]+){0,2}?)["'”\`]?`
const end = String.raw`(?=$|[.,;(]| (?:in|for|to|when|as|by|on|and|everywhere|because|so|where|with)\b)`
const shape = (text: string): RegExp => new RegExp(text.replaceAll('THING', thing).replaceAll('END', end), 'i')

/** Each with the groups of what is chosen and what is given up; 0 for none. */
const shapes: readonly [shape: RegExp, chosen: number, dropped: number][] = [
  [shape('^(?:use|prefer|adopt|run) THING (?:instead of|rather than|over|in favou?r of) THINGEND'), 1, 2],
  [shape('^(?:replace|replaces|replaced|substitute) THING (?:with|by) THINGEND'), 2, 1],
  [shape('^(?:switch|switched|migrate|migrated|move|moved|convert|port)(?: over| away)? from THING to THINGEND'), 2, 1],
  [shape('^(?:drop|remove|stop using|no longer use) THING in favou?r of THINGEND'), 2, 1],
  [shape('^(?:switch|switched|migrate|migrated)(?: over)? (?:back )?to THINGEND'), 1, 0],
  [shape('^(?:adopt|introduce|use|start using) THINGEND'), 1, 0],
  [shape('^(?:drop|stop using|no longer use) THINGEND'), 0, 1],
]
/** `pin X to 1.2`: a later pin of the same thing takes its place. */
const pinned = /^(?:pin|unpin) ["'`]?([\w@][\w@./+-]*)/i
const vague =
  /^(?:it|this|that|them|a|an|the|new|old|more|some|all|own|custom|our|support|local|global|default|node|os|python|version|versions)(?![\w-])/i

const nameOf = (text: string | undefined): string | null => {
  const name = text?.toLowerCase().replace(/[.,:;]{1,9}$/, '') ?? ''
  return name.length < 2 || vague.test(name) ? null : name
}

export function choiceIn(title: string): Choice {
  const pin = nameOf(pinned.exec(title)?.[1])
  if (pin !== null) return { chosen: `pin ${pin}`, dropped: `pin ${pin}` }
  for (const [one, chosen, dropped] of shapes) {
    const found = one.exec(title)
    if (found)
      return {
        chosen: chosen === 0 ? null : nameOf(found[chosen]),
        dropped: dropped === 0 ? null : nameOf(found[dropped]),
      }
  }
  return { chosen: null, dropped: null }
}
