/** Splits the arguments of a program into options, their values and the rest. */
import { type Grammar, grammars, sameAs } from './grammars.ts'

interface Compiled {
  values: ReadonlySet<string>
  same: ReadonlyMap<string, readonly string[]>
  long: readonly string[]
  stops: boolean
  single: boolean
}
const words = (text = ''): string[] => text.split(/[ ,]+/).filter(Boolean)

const compile = ({ values, same, long, stops, single }: Grammar): Compiled => {
  const groups = (same ?? '')
    .split(', ')
    .filter(Boolean)
    .map((group) => group.split(' '))
  return {
    values: new Set(words(values)),
    same: new Map(groups.flatMap((group) => group.map((one) => [one, group] as const))),
    long: words(long),
    stops: stops === true,
    single: single === true,
  }
}
const compiled = new Map(Object.entries(grammars).map(([name, grammar]) => [name, compile(grammar)]))
const plain = compile({})

export interface Split {
  args: string[]
  flags: string[]
  values: Record<string, string>
  /** Index of the argument at which the options ended, in the given list. */
  end: number
}

const spellings = ({ same, long }: Compiled, flag: string): readonly string[] => {
  const group = same.get(flag)
  if (group) return group
  if (!flag.startsWith('--') || long.includes(flag)) return [flag]
  const full = long.filter((one) => one.startsWith(flag))
  return full.length === 1 ? [flag, ...(same.get(full[0]!) ?? full)] : [flag]
}

/** Splits arguments by a grammar. */
function split(given: readonly string[], grammar: Compiled): Split {
  const args: string[] = []
  const flags = new Set<string>()
  const values = new Map<string, string>()
  const add = (flag: string, value?: string) => {
    for (const one of spellings(grammar, flag)) {
      flags.add(one)
      if (value !== undefined) values.set(one, values.has(one) ? `${values.get(one)}\n${value}` : value)
    }
  }
  let at = 0
  for (; at < given.length; at++) {
    const one = given[at]!
    if (one === '--') {
      flags.add('--')
      at++
      args.push(...given.slice(at))
      break
    }
    if (!/^-[^\s]/.test(one) || /^-\d+$/.test(one)) {
      if (grammar.stops) {
        args.push(...given.slice(at))
        break
      }
      args.push(one)
      continue
    }
    const equals = one.indexOf('=')
    if (one.startsWith('--') || grammar.single) {
      if (equals > 0) add(one.slice(0, equals), one.slice(equals + 1))
      else if (grammar.values.has(one)) add(one, given[++at] ?? '')
      else add(one)
      continue
    }
    for (let letter = 1; letter < Math.min(one.length, 64); letter++) {
      const flag = `-${one[letter]}`
      if (!grammar.values.has(flag)) {
        if (/[\w#]/.test(one[letter]!)) add(flag)
        continue
      }
      const rest = one.slice(letter + 1)
      add(flag, rest === '' ? (given[++at] ?? '') : rest)
      break
    }
    if (one.length > 2) flags.add(one)
  }
  return { args, flags: [...flags], values: Object.fromEntries(values), end: at }
}

const grammarOf = (program: string, word: string | undefined): Compiled | undefined => {
  const name = sameAs[program] ?? program
  return word === undefined ? compiled.get(name) : compiled.get(`${name} ${word}`)
}

/** A refspec says by its first character what an option says as well. */
function withRefspecs(one: Split): Split {
  const flags = new Set(one.flags)
  for (const spec of one.args.slice(1)) {
    if (spec.startsWith('+')) flags.add('--force')
    if (spec.startsWith(':') && spec.length > 1) flags.add('--delete')
  }
  return { ...one, flags: [...flags] }
}

/** Splits the arguments of a program. A program with its own options before its first word has those of both. */
export function splitArguments(program: string, given: readonly string[]): Split {
  const found = splitByGrammar(program, given)
  return program === 'git' && found.args[0] === 'push' ? withRefspecs(found) : found
}

function splitByGrammar(program: string, given: readonly string[]): Split {
  const first = split(given, grammarOf(program, undefined) ?? plain)
  const [word] = first.args
  const inner = word === undefined ? undefined : grammarOf(program, word)
  if (inner === undefined) {
    if (!grammarOf(program, undefined)?.stops || word === undefined) return first
    const rest = split(first.args.slice(1), plain)
    return {
      ...first,
      args: [word, ...rest.args],
      flags: [...first.flags, ...rest.flags],
      values: { ...rest.values, ...first.values },
    }
  }
  const at = grammarOf(program, undefined)?.stops ? first.end : given.indexOf(word!)
  const before = split(given.slice(0, at), grammarOf(program, undefined) ?? plain)
  const rest = split(given.slice(at + 1), inner)
  return {
    args: [word!, ...rest.args],
    flags: [...new Set([...before.flags, ...rest.flags])],
    values: { ...before.values, ...rest.values },
    end: at,
  }
}
