/** Expands words of a shell line: variables that the line sets, braces, quotes, and substitutions with a known output. */
import type { ArrayValue, ParameterExpansionPart, ParsedScript, Word, WordPart } from 'unbash'
import { unknown } from './paths.ts'
import { unescaped } from './texts.ts'

export interface WordTools {
  /** The value of a variable; null if it is only known at run time. */
  valueOf(name: string): string | null
  /** The elements of an array, or of `@`; null if they are only known at run time, or if it is something else. */
  elementsIn(name: string): readonly string[] | null
  /** Notes that a part of a word is made of what the line says, in a way that is not computed here. */
  noteComputed(): void
  /** Reads what is substituted inside of an expression. */
  readInside(part: WordPart): void
  /** The path of the file that stands for the output of a script. Also reads what the script runs. */
  fileOf(script: ParsedScript): string
  /** The output of a substituted script; null if it is only known at run time. Also reads what the script runs. */
  outputOf(script: ParsedScript): string | null
}

const maxFields = 64
const maxText = 65_536

/** The fields of words as they are built: unquoted spaces of a value begin the next field. */
class Fields {
  done: string[] = []
  open = ''
  /** Whether the open field exists even if it is empty, as `""`. */
  isThere = false

  add(text: string): void {
    if (this.open.length < maxText) this.open += text
    this.isThere = true
  }

  addSplit(text: string, separators: string): void {
    for (const one of text)
      if (separators.includes(one)) this.close()
      else this.add(one)
  }

  close(): void {
    if (this.isThere && this.done.length < maxFields) this.done.push(this.open)
    this.open = ''
    this.isThere = false
  }
}

const braced = (text: string): string[] | null => {
  const inner = text.slice(1, -1)
  const range = /^(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])$/.exec(inner)
  if (range) return [range[1]!, range[2]!]
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] === '\\') at++
    else if (inner[at] === '{') depth++
    else if (inner[at] === '}') depth--
    else if (inner[at] === ',' && depth === 0) {
      parts.push(inner.slice(from, at))
      from = at + 1
    }
  }
  if (from === 0) return null
  return [...parts, inner.slice(from)].map((one) => one.replace(/['"\\]/g, ''))
}

/** The value of a word in which nothing is split, as in an assignment or in double quotes. */
export function textOf(word: Word | undefined, tools: WordTools): string {
  if (word === undefined) return ''
  const fields = new Fields()
  if (word.parts === undefined) return withHome(word, word.value)
  for (const part of word.parts) addPart(part, fields, tools, true)
  fields.close()
  return withHome(word, fields.done.join(' '))
}

/** The text of a here-document: expanded unless its delimiter is quoted. */
export function bodyOf(text: string, parts: readonly WordPart[] | undefined, tools: WordTools): string {
  if (parts === undefined) return text
  const fields = new Fields()
  for (const part of parts) addPart(part, fields, tools, true)
  return fields.open
}

export const elementsOf = (value: Word | ArrayValue, tools: WordTools): string =>
  value.type === 'Word' ? textOf(value, tools) : listOf(value, tools).join(' ')

export const listOf = (value: ArrayValue, tools: WordTools): string[] =>
  value.elements.flatMap((one) => fieldsOf(one, tools))

/** A tilde in quotes is a file of that name; one that a variable begins with is the home folder. */
function withHome({ text, parts }: Word, value: string): string {
  if (!value.startsWith('~') || text.startsWith('~')) return value
  const [first] = parts ?? []
  const isVariable =
    first?.type === 'SimpleExpansion' ||
    first?.type === 'ParameterExpansion' ||
    first?.type === 'CommandExpansion' ||
    (first?.type === 'DoubleQuoted' && first.parts[0]?.type !== 'Literal')
  return isVariable ? value : `./${value}`
}

/** The fields that a word expands to. Globs are kept as they are. */
export function fieldsOf(word: Word, tools: WordTools): string[] {
  if (word.parts === undefined) return [withHome(word, word.value)]
  let all: Fields[] = [new Fields()]
  for (const part of word.parts) {
    const choices = part.type === 'BraceExpansion' ? braced(part.text) : null
    if (choices === null) {
      for (const fields of all) addPart(part, fields, tools, false)
      continue
    }
    all = all.flatMap((fields) =>
      choices.slice(0, maxFields).map((choice) => {
        const copy = new Fields()
        copy.done = [...fields.done]
        copy.add(fields.open + choice)
        return copy
      }),
    )
    all.length = Math.min(all.length, maxFields)
  }
  const found = all.flatMap((fields) => {
    fields.close()
    return fields.done
  })
  const [first, ...rest] = found
  return first === undefined ? [] : [withHome(word, first), ...rest]
}

function addPart(part: WordPart, fields: Fields, tools: WordTools, isQuoted: boolean): void {
  const expanded = (value: string | null): void => {
    if (value === null) fields.add(unknown)
    else if (isQuoted) fields.add(value)
    else fields.addSplit(value, tools.valueOf('IFS') ?? '')
  }
  const elements =
    part.type === 'SimpleExpansion' && part.text === '$@'
      ? tools.elementsIn('@')
      : part.type === 'ParameterExpansion' && part.prefix === undefined && part.operation === undefined
        ? part.parameter === '@'
          ? tools.elementsIn('@')
          : part.index !== undefined && /^[@*]$/.test(textOf(part.index, tools))
            ? tools.elementsIn(part.parameter)
            : null
        : null
  if (elements !== null) {
    for (const [at, one] of elements.slice(0, maxFields).entries()) {
      if (at > 0) fields.close()
      fields.add(one)
    }
    return
  }
  switch (part.type) {
    case 'Literal':
    case 'Glob':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      fields.add(part.value)
      return
    case 'DoubleQuoted':
    case 'LocaleString':
      fields.add('')
      for (const one of part.parts) addPart(one, fields, tools, true)
      return
    case 'SimpleExpansion':
      expanded(tools.valueOf(part.text.slice(1)))
      return
    case 'ParameterExpansion': {
      const value = parameter(part, tools)
      if (value === null && part.operation !== undefined && tools.valueOf(part.parameter) !== null) tools.noteComputed()
      expanded(value)
      return
    }
    case 'CommandExpansion':
      expanded(part.script === undefined ? null : tools.outputOf(part.script))
      return
    case 'ProcessSubstitution':
      if (part.script !== undefined && part.text.startsWith('<')) fields.add(tools.fileOf(part.script))
      else {
        if (part.script !== undefined) tools.outputOf(part.script)
        fields.add(unknown)
      }
      return
    case 'ArithmeticExpansion':
      tools.readInside(part)
      if (!/[a-z]/i.test(part.text)) tools.noteComputed()
      fields.add(/^\$\(\((\d{1,9})\)\)$/.exec(part.text)?.[1] ?? unknown)
      return
    case 'ExtendedGlob':
      fields.add('*')
      return
    case 'BraceExpansion':
      fields.add((braced(part.text) ?? [part.text])[0]!)
      return
  }
}

/** Whether a text is what a pattern of `*` and `?` takes. */
function globbed(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*')
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  const fits = (text: string, part: string, at: number): boolean =>
    [...part].every((one, index) => at + index < text.length && (one === '?' || one === text[at + index]))
  return (text) => {
    if (parts.length === 1) return text.length === pattern.length && fits(text, pattern, 0)
    if (text.length < first.length + last.length || !fits(text, first, 0)) return false
    let at = first.length
    for (const part of parts.slice(1, -1)) {
      while (at < text.length && !fits(text, part, at)) at++
      at += part.length
    }
    return at <= text.length - last.length && fits(text, last, text.length - last.length)
  }
}

/** `${name…}`. An unknown variable is as good as set. */
function parameter(
  { parameter: name, prefix, index, operation }: ParameterExpansionPart,
  tools: WordTools,
): string | null {
  if (prefix === '#') return null
  let value = tools.valueOf(name)
  if (prefix === '!') value = value === null ? null : tools.valueOf(value)
  const key = index === undefined ? '' : textOf(index, tools)
  if (index !== undefined && tools.valueOf(`${name}[${key}]`) !== null) value = tools.valueOf(`${name}[${key}]`)
  else if (index !== undefined && value !== null) {
    const at = /^\d{1,4}$/.exec(key)?.[0]
    if (at !== undefined) value = value.split(' ')[Number(at)] ?? ''
  }
  if (operation === undefined) return value
  switch (operation.type) {
    case 'Default': {
      const operand = () => textOf(operation.operand, tools)
      const sign = operation.operator.at(-1)
      if (sign === '+') return operand()
      if (sign === '?') return value ?? `${unknown}set`
      return value === null || value === '' ? operand() : value
    }
    case 'Slice': {
      const offset = Number(textOf(operation.offset, tools).trim())
      const length = operation.length === undefined ? undefined : Number(textOf(operation.length, tools).trim())
      if (value === null || !Number.isSafeInteger(offset) || (length !== undefined && !Number.isSafeInteger(length)))
        return null
      const rest = value.slice(offset)
      return length === undefined ? rest : length < 0 ? rest.slice(0, length) : rest.slice(0, length)
    }
    case 'Replace': {
      const from = textOf(operation.pattern, tools)
      if (value === null || from === '' || /[*?[]/.test(from)) return null
      const to = textOf(operation.replacement, tools)
      return operation.operator === '//' ? value.replaceAll(from, () => to) : value.replace(from, () => to)
    }
    case 'CaseModification':
      if (value === null || operation.operand !== undefined) return value
      if (operation.operator === '^^') return value.toUpperCase()
      if (operation.operator === ',,') return value.toLowerCase()
      return operation.operator === '^'
        ? value.slice(0, 1).toUpperCase() + value.slice(1)
        : value.slice(0, 1).toLowerCase() + value.slice(1)
    case 'Remove': {
      const pattern = textOf(operation.operand, tools)
      if (value === null || pattern.includes('[')) return null
      const isLong = operation.operator.length === 2
      const lengths = Array.from({ length: Math.min(value.length, 1_000) + 1 }, (_, at) =>
        isLong ? value!.length - at : at,
      )
      const isStart = operation.operator.startsWith('#')
      const matches = globbed(pattern)
      const found = lengths.find((one) => matches(isStart ? value!.slice(0, one) : value!.slice(value!.length - one)))
      if (found === undefined) return value
      return isStart ? value.slice(found) : value.slice(0, value.length - found)
    }
    case 'Transform':
      return value !== null && textOf(operation.operand, tools) === 'E' ? unescaped(value) : value
    default:
      return null
  }
}
