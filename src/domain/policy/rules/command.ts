/** Conditions on what a command does, and what expressions see of it. The line of an action is read once, however many rules look at it. */
import type { CommandCondition, Condition } from '../../../../sdk/schema/condition.ts'
import { type Edit, editOf } from '../command/edit.ts'
import type { Access, Invocation, Surroundings, Target, Understanding } from '../command/model.ts'
import { normal } from '../command/paths.ts'
import { readLine } from '../command/reader.ts'
import { type Action, compileField, EvaluationError } from './action.ts'

/** The parts of a context that facts are computed from. */
export interface Judged {
  command: string | null
  /** The text of the script that the command runs, if the caller read it. */
  script_text: string | null
  /** Its absolute path; null for a script of a shell that the command runs as a whole. */
  script_path: string | null
  tool: string | null
  input: unknown
  file_path: string | null
  surroundings: Surroundings
}

export interface CommandFacts extends Understanding {
  line: string
  /** What a tool for files does; null for any other call. */
  edit: Edit | null
}

/** A tool for files as an invocation, so that rules about paths see both. */
const asInvocation = ({ kind, targets }: Edit): Invocation => ({
  program: `file:${kind}`,
  subcommand: '',
  args: targets.map(({ path }) => path),
  flags: [],
  values: {},
  targets,
  stdin_from: [],
  assignments: {},
  in: 'line',
  via: [],
  code_from: null,
  code: '',
  hosts: [],
  opaque: false,
})

/** Whether a command applies a patch, whose text is then on the line. */
const appliesPatch = ({ program, args }: Invocation): boolean =>
  /^(?:apply_?patch|patch)$/.test(program) || (program === 'git' && /^(?:apply|am)$/.test(args[0] ?? ''))

/** An input whose command was read already: the line of a shell may quote a patch that it does not apply. */
const withoutCommand = (input: unknown): unknown =>
  input !== null && typeof input === 'object' && 'command' in input ? { ...input, command: null } : input

/** What is understood of a call. Never throws. */
export function understand(judged: Judged): CommandFacts {
  const { command, script_text, script_path, tool, input, file_path, surroundings } = judged
  const read =
    command === null
      ? { invocations: [], opaque: [], fork_bomb: false, unread: false }
      : readLine(command, surroundings)
  if (command !== null && script_text !== null && script_path !== null) {
    // What is too much of a file, or no code, is no reason to stop it: the command alone says what is not read.
    const ran = readLine(command, surroundings, new Map([[normal(script_path), script_text]]))
    read.invocations = ran.invocations
    read.fork_bomb = ran.fork_bomb
  } else if (command !== null && script_text !== null) {
    const script = readLine(script_text, surroundings)
    for (const one of script.invocations) one.via.unshift('script')
    read.invocations.push(...script.invocations)
    read.opaque.push(...script.opaque)
    read.fork_bomb ||= script.fork_bomb
    read.unread ||= script.unread
  }
  const edit =
    (tool === null ? null : editOf(tool, command === null ? input : withoutCommand(input), file_path, surroundings)) ??
    (command !== null && read.invocations.some(appliesPatch) ? editOf('patch', command, null, surroundings) : null)
  return {
    ...read,
    invocations: edit === null ? read.invocations : [...read.invocations, asInvocation(edit)],
    unread: read.unread || edit?.unread === true,
    line: command ?? '',
    edit,
  }
}

const pathsOf = (targets: readonly Target[], ...accesses: Access[]): string[] => [
  ...new Set(targets.filter(({ access }) => accesses.includes(access)).map(({ path }) => path)),
]

/** The facts as an expression sees them. */
export function asVariables({ line, invocations, opaque, fork_bomb, edit }: CommandFacts): {
  command: Record<string, unknown>
  edit: Record<string, unknown>
} {
  const targets = invocations.flatMap(({ program, targets: all }) => all.map((one) => ({ ...one, program })))
  const hosts = [...new Set(invocations.flatMap((one) => one.hosts))]
  return {
    command: {
      line,
      programs: [...new Set(invocations.map(({ program }) => program))],
      invocations,
      targets,
      reads: pathsOf(targets, 'read'),
      writes: pathsOf(targets, 'write', 'overwrite'),
      deletes: pathsOf(targets, 'delete'),
      sends: pathsOf(targets, 'send'),
      network: hosts.length > 0,
      hosts,
      opaque: opaque.length > 0 || invocations.some((one) => one.opaque),
      fork_bomb,
    },
    edit: {
      kind: edit?.kind ?? '',
      paths: edit?.targets.map(({ path }) => path) ?? [],
      added: edit?.added ?? '',
      removed: edit?.removed ?? '',
      size: edit?.size ?? 0,
    },
  }
}

const command = compileField('context.command')
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const known = new WeakMap<Action, CommandFacts>()

/** What is understood of the command, or of the tool for files, of an action. @throws EvaluationError if the command is not a text */
export function commandFacts(action: Action): CommandFacts {
  const before = known.get(action)
  if (before !== undefined) return before
  const { context } = action
  const line = command.value(action) ?? null
  if (line === null && command.lookalikeOf(action) !== null)
    throw new EvaluationError('the context has a key that looks like context.command but is not')
  if (line !== null && typeof line !== 'string') throw new EvaluationError('context.command is not a text')
  const facts = understand({
    command: line,
    script_text: text(context.script_text),
    script_path: text(context.script_path),
    tool: text(context.tool),
    input: context.input ?? null,
    file_path: text(context.file_path),
    surroundings: { cwd: text(context.cwd), project_dir: text(context.project_dir) },
  })
  known.set(action, facts)
  return facts
}

const variables = new WeakMap<CommandFacts, ReturnType<typeof asVariables>>()

/** The variables `command` and `edit` of an expression. @throws EvaluationError as {@link commandFacts} */
export function commandVariables(action: Action): ReturnType<typeof asVariables> {
  const facts = commandFacts(action)
  let found = variables.get(facts)
  if (found === undefined) {
    found = asVariables(facts)
    variables.set(facts, found)
  }
  return found
}

/** The problem of a condition that its schema can't find; null if there is none. */
export function commandProblem({ type: _, flags, targets, ...rest }: CommandCondition): string | null {
  if (flags !== undefined && Object.keys(flags).length === 0) return 'flags needs any, all or none'
  if (targets !== undefined && Object.keys(targets).length === 0)
    return 'targets needs class, access, outside, whole or recursive'
  const isEmpty = flags === undefined && targets === undefined && Object.values(rest).every((one) => one === undefined)
  return isEmpty ? 'needs program, subcommand, flags, targets, code_from or opaque' : null
}

type Part = (one: Invocation) => boolean

const isProgram = (wanted: string): Part => {
  if (!wanted.endsWith('*')) return ({ program }) => program === wanted
  const start = wanted.slice(0, -1)
  return ({ program }) => program.startsWith(start)
}

/** Whether words begin with a pattern: `*` is one word, `**` any number of them. */
function beginsWith(words: readonly string[], pattern: readonly string[], at = 0, from = 0): boolean {
  if (from === pattern.length) return true
  if (pattern[from] === '**') {
    for (let next = at; next <= words.length; next++) if (beginsWith(words, pattern, next, from + 1)) return true
    return false
  }
  return (
    at < words.length &&
    (pattern[from] === '*' || pattern[from] === words[at]) &&
    beginsWith(words, pattern, at + 1, from + 1)
  )
}

const isTarget = (wanted: NonNullable<CommandCondition['targets']>): ((one: Target) => boolean) => {
  const [classes, accesses] = [wanted.class, wanted.access].map((one) =>
    one === undefined ? null : new Set<string>([one].flat()),
  )
  return (one) =>
    (classes?.has(one.class) ?? true) &&
    (accesses?.has(one.access) ?? true) &&
    (wanted.outside === undefined || one.outside === wanted.outside) &&
    (wanted.whole === undefined || one.whole === wanted.whole) &&
    (wanted.recursive === undefined || one.recursive === wanted.recursive)
}

/** Compiles a condition: it holds if one program on the line meets all of it. */
export function compileCommand(condition: CommandCondition): (action: Action) => boolean {
  const { program, subcommand, flags, targets, code_from, opaque } = condition
  const parts: Part[] = []
  if (program !== undefined) {
    const names = [program].flat().map(isProgram)
    parts.push((one) => names.some((isNamed) => isNamed(one)))
  }
  if (subcommand !== undefined) {
    const patterns = [subcommand].flat().map((one) => one.split(/\s+/))
    parts.push(({ args }) => patterns.some((pattern) => beginsWith(args, pattern)))
  }
  const { any, all, none } = flags ?? {}
  if (any !== undefined) parts.push(({ flags: given }) => any.some((one) => given.includes(one)))
  if (all !== undefined) parts.push(({ flags: given }) => all.every((one) => given.includes(one)))
  if (none !== undefined) parts.push(({ flags: given }) => !none.some((one) => given.includes(one)))
  if (targets !== undefined) {
    const isMeant = isTarget(targets)
    parts.push((one) => one.targets.some(isMeant))
  }
  if (code_from !== undefined) {
    const sources = new Set<string>([code_from].flat())
    parts.push((one) => one.code_from !== null && sources.has(one.code_from))
  }
  if (opaque !== undefined) parts.push((one) => one.opaque === opaque)
  return (action) => commandFacts(action).invocations.some((one) => parts.every((holds) => holds(one)))
}

const commandsIn = (conditions: readonly Condition[]): CommandCondition[] =>
  conditions.flatMap((one) =>
    one.type === 'command' ? [one] : one.type === 'compound' ? commandsIn(one.conditions) : [],
  )

/** Why conditions name programs that no command has: names are compared without folders, further words and Windows' endings. */
export const unknownPrograms = (conditions: readonly Condition[]): string[] =>
  commandsIn(conditions).flatMap(({ program }) =>
    [program ?? []].flat().flatMap((name) => {
      const [first = '', ...words] = name.split('/').at(-1)!.split(/\s+/)
      const meant = first.replace(/\.(?:exe|cmd|bat)$/i, '')
      if (meant === name) return []
      const rest = words.length > 0 ? `, and subcommand: ${words.join(' ')}` : ''
      return [`no program is named ${JSON.stringify(name)}; write program: ${meant}${rest}`]
    }),
  )
