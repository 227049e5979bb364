/** Notes what is understood of one command. */
import type { Call } from './effects.ts'
import type { CodeSource, Invocation, Target } from './model.ts'
import { splitArguments } from './options.ts'
import { makesText, mixed, type Stream } from './output.ts'
import { resolve, targetOf, unknown } from './paths.ts'
import { contentOf, type Given, type Reader, type Scope } from './scope.ts'

const maxArgument = 4_096
export const shown = (text: string): string => text.replaceAll(unknown, '?').slice(0, maxArgument)

export function record(reader: Reader, call: Call, scope: Scope, given: Given, more: Partial<Invocation>): Invocation {
  const invocation: Invocation = {
    program: call.program,
    subcommand: call.args.slice(0, 4).map(shown).join(' ').slice(0, 256),
    args: call.args.slice(0, 64).map(shown),
    flags: call.flags.slice(0, 64).map(shown),
    values: Object.fromEntries(
      Object.entries(call.values)
        .slice(0, 32)
        .map(([name, value]) => [name, shown(value)]),
    ),
    targets: [...given.redirected],
    stdin_from: given.stdin?.from ?? [],
    assignments: Object.fromEntries([...given.assignments].slice(0, 16).map(([name, value]) => [name, shown(value)])),
    in: scope.in,
    via: [...scope.via],
    code_from: null,
    code: '',
    hosts: [],
    opaque: call.program === '',
    ...more,
  }
  reader.all.invocations.push(invocation)
  return invocation
}

export const callOf = (program: string, raw: readonly string[]): Call => ({
  program,
  raw,
  ...splitArguments(program, raw),
})

/** What a program prints that keeps secrets. */
export const environment = (path: string): Target => ({
  path,
  class: 'secret',
  access: 'read',
  outside: true,
  whole: false,
  recursive: false,
})

/** Notes a shell or an interpreter whose code can't be read. */
export function runOpaque(reader: Reader, program: string, raw: readonly string[], scope: Scope, given: Given): void {
  const source = sourceOf(reader, raw, scope, given)
  record(reader, callOf(program, raw), scope, given, {
    code_from: source,
    opaque: source !== 'file' && source !== 'text',
  })
}

/** Where code is from that is made of these: a part of a text, or a text with other characters, hides what it says. */
export const worstOf = (all: readonly Stream[], makes = makesText): CodeSource =>
  mixed(
    all.map((one) =>
      one.text === null && !one.script && /^(?:output|file)$/.test(one.source) && one.from.some(makes)
        ? { ...one, source: 'decoded' }
        : one,
    ),
  ).source

/** Where code is from that is not on the line itself: what is substituted, what a pipeline sends, or a file. */
export function sourceOf(
  reader: Reader,
  raw: readonly string[],
  scope: Scope,
  { stdin, substituted }: Given,
): CodeSource {
  // What the code of a one-liner prints is code that it makes.
  const worst = worstOf(
    [...substituted, ...(stdin === null ? [] : [stdin])],
    (one) => makesText(one) || one.endsWith(' -c'),
  )
  if (worst === 'download' || worst === 'decoded') return worst
  const file = raw.find((one) => !one.startsWith('-'))
  const content = file === undefined ? undefined : contentOf(reader.all, resolve(file, scope.base))
  if (content !== undefined) return content.source
  if (file !== undefined && !file.includes(unknown)) return 'file'
  return worst === 'output' || raw.some((one) => one.includes(unknown)) ? 'output' : 'file'
}

/** Whether a program lists the files of a project, by which others choose what to delete. */
const lists = (program: string): boolean => /^(?:ls|find|fd|git|cat|echo|printf|jq)$/.test(program)

/** The targets of a word; several if it stands for what a program before it lists. */
export function targetsOf(
  word: string,
  access: Target['access'],
  recursive: boolean,
  scope: Scope,
  given: Given,
): Target[] {
  const listed = word === unknown ? given.substituted.flatMap(({ paths }) => paths) : []
  const made = given.substituted.some(
    ({ source, text, from }) =>
      source === 'decoded' ||
      (access === 'delete' && recursive && text === null && from.some(makesText) && !from.some(lists)),
  )
  if (word === unknown && listed.length === 0 && made)
    return [{ path: '?', class: 'hidden', access, outside: true, whole: false, recursive }]
  return (listed.length > 0 ? listed : [word]).flatMap((one) => targetOf(one, access, scope.base, recursive) ?? [])
}
