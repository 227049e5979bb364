/** Conditions on what a command does, and what expressions see of it. The line of an action is read once, however many rules look at it. */
import type { CommandCondition, Condition } from '../../../../sdk/schema/condition.ts'
import { asVariables, type CommandFacts, understand } from '../command/facts.ts'
import type { Invocation, Target } from '../command/model.ts'
import { type Action, compileField, EvaluationError } from './action.ts'

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
