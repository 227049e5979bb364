/** Reads a line of a shell: walks its syntax tree, keeps track of variables and folders, and passes every command on. */
import { type Assignment, type Command, forEachChild, parse, type Script, type SyntaxNode, type Word } from 'unbash'
import { builtin } from './builtins.ts'
import { selfStarting, startsItself } from './forks.ts'
import type { Surroundings, Understanding } from './model.ts'
import { joined, mixed, noStream, type Stream } from './output.ts'
import { baseOf, unknown } from './paths.ts'
import { noteOutput, openAll, toolsFor } from './redirects.ts'
import { runCommand } from './run.ts'
import { type Collected, type Given, inner, nothing, type Reader, type Scope, variableOf } from './scope.ts'
import { elementsOf, fieldsOf, listOf } from './words.ts'

const maxLine = 65_536
const maxDepth = 14
const maxCommands = 400
const maxLoops = 8

/** Reads a line. Bounded in time, and never throws. @param written texts of files by their absolute path, which the line may run */
export function readLine(
  text: string,
  surroundings: Surroundings,
  written: ReadonlyMap<string, string> = new Map(),
): Understanding {
  const all: Collected = {
    invocations: [],
    opaque: new Set(),
    fork_bomb: false,
    unread: false,
    files: new Map([...written].map(([path, text]) => [path, { ...noStream, source: 'text', text }])),
    names: new Map(),
    left: maxCommands,
  }
  const scope: Scope = {
    vars: new Map(),
    lists: new Map(),
    functions: new Map(),
    aliases: new Map(),
    base: baseOf(surroundings),
    in: 'line',
    via: [],
    args: [],
    running: [],
    depth: 0,
  }
  const reader: Reader = {
    all,
    line: (line, at, stdin = null) => readText(reader, line, at, stdin),
    node: (node, at, stdin) => readNode(reader, node, at, stdin),
    command: (words, at, given) => runCommand(reader, words, at, given),
  }
  try {
    // A Windows path has no escapes.
    reader.line(
      /(?:^|[\s"'=])[A-Za-z]:\\(?!n(?:\\|["']))/.test(text) ? text.replace(/\\(?=[\w.$%*-]|$|["'\s])/g, '/') : text,
      scope,
    )
  } catch {
    all.opaque.add('it could not be read')
    all.unread = true
  }
  const { invocations, fork_bomb, unread } = all
  return { invocations, opaque: [...all.opaque], fork_bomb, unread }
}

/** Notes that there is more than is read. */
function noteUnread({ all }: Reader, why: string): void {
  all.opaque.add(why)
  all.unread = true
}

function readText(reader: Reader, text: string, scope: Scope, stdin: Stream | null): Stream {
  if (scope.depth > maxDepth) {
    noteUnread(reader, 'commands are nested too deeply')
    return noStream
  }
  if (text.length > maxLine) noteUnread(reader, 'it is too long to be read')
  const script = parse(text.slice(0, maxLine))
  if (script.errors !== undefined && script.errors.length > 0)
    reader.all.opaque.add(`syntax: ${script.errors[0]!.message}`.slice(0, 200))
  return readScript(reader, script, scope, stdin)
}

const noOutput: Stream = { ...noStream, text: '', source: 'text' }

function readScript(reader: Reader, script: Script, scope: Scope, stdin: Stream | null): Stream {
  return readAll(reader, script.commands, scope, stdin)
}

function readAll(reader: Reader, nodes: readonly SyntaxNode[], scope: Scope, stdin: Stream | null): Stream {
  let output: Stream | null = null
  for (const node of nodes) output = joined(output, readNode(reader, node, scope, stdin))
  return output ?? noOutput
}

function readNode(reader: Reader, node: SyntaxNode, scope: Scope, stdin: Stream | null): Stream {
  if (reader.all.left <= 0) {
    noteUnread(reader, 'it runs more commands than are read')
    return noStream
  }
  switch (node.type) {
    case 'Script':
    case 'CompoundList':
      return readAll(reader, node.commands, scope, stdin)
    case 'Statement':
      return readNode(
        reader,
        node.command,
        node.background ? inner(scope, { in: 'background', depth: scope.depth }) : scope,
        stdin,
      )
    case 'AndOr':
      return readAll(reader, node.commands, scope, stdin)
    case 'Pipeline': {
      let stream = stdin
      // The shell runs each part of a pipeline by itself, but the effects of `read` and `cd` are kept, as some shells do.
      const at: Scope = node.commands.length > 1 ? inner(scope, { in: 'pipeline', depth: scope.depth }) : scope
      for (const one of node.commands) stream = readNode(reader, one, at, stream)
      return stream ?? noOutput
    }
    case 'Command':
      return readCommand(reader, node, scope, stdin)
    case 'Redirected': {
      const opened = openAll(reader, node.redirects, scope, stdin, [])
      const output = readNode(reader, node.command, scope, opened.stdin)
      noteOutput(reader, opened.targets, output, scope)
      if (opened.targets.length > 0) reader.command([':'], scope, { ...nothing, redirected: opened.targets })
      return output
    }
    case 'Subshell':
      return readNode(reader, node.body, inner(scope, { in: 'subshell' }), stdin)
    case 'BraceGroup':
      return readNode(reader, node.body, scope, stdin)
    case 'Function': {
      const name = node.name.value
      if (startsItself(node.body, name)) reader.all.fork_bomb = true
      scope.functions.set(name, node.body)
      if (name === 'command_not_found_handle') readNode(reader, node.body, inner(scope), null)
      return noOutput
    }
    case 'If':
      return readAll(
        reader,
        [
          node.clause,
          node.then,
          ...node.elif.flatMap((one) => [one.clause, one.then]),
          ...(node.else ? [node.else] : []),
        ],
        scope,
        stdin,
      )
    case 'For':
    case 'Select': {
      const words = node.wordlist?.flatMap((word) => fieldsOf(word, toolsFor(reader, scope, null, []))) ?? [
        ...scope.args,
      ]
      const name = node.name.value
      let output: Stream | null = null
      for (const word of words.length > 0 ? new Set(words.slice(0, maxLoops)) : [unknown]) {
        scope.vars.set(name, word.includes(unknown) && word.length === 1 ? null : word)
        output = joined(output, readNode(reader, node.body, scope, stdin))
      }
      scope.vars.set(name, null)
      return output ?? noOutput
    }
    case 'ArithmeticFor':
      return readNode(reader, node.body, scope, stdin)
    case 'While': {
      if (selfStarting(node.body)) reader.all.fork_bomb = true
      return readAll(reader, [node.clause, node.body], scope, stdin)
    }
    case 'Case':
      return readAll(
        reader,
        node.items.map(({ body }) => body),
        scope,
        stdin,
      )
    case 'Coproc':
      return readNode(reader, node.body, inner(scope, { in: 'background' }), stdin)
    case 'TestCommand':
    case 'ArithmeticCommand':
      readInside(reader, node, scope, 0)
      return noOutput
    default:
      return noOutput
  }
}

/** Commands that are substituted inside of something that is not itself a command. */
function readInside(reader: Reader, node: SyntaxNode, scope: Scope, depth: number): void {
  if (depth > 20) return
  forEachChild(node, (child) => {
    if (child.type === 'Script') readScript(reader, child, inner(scope, { in: 'substitution' }), null)
    else readInside(reader, child, scope, depth + 1)
  })
}

const isAssignment = (one: { type: string }): one is Assignment => one.type === 'Assignment'

function readCommand(reader: Reader, node: Command, scope: Scope, before: Stream | null): Stream {
  reader.all.left--
  const substituted: Stream[] = []
  const tools = toolsFor(reader, scope, before, substituted)
  const { stdin, targets } = openAll(reader, node.redirects, scope, before, substituted)
  const assignments = new Map<string, string>()
  const lists = new Map<string, readonly string[]>()
  const note = ({ name, value, append }: Assignment): void => {
    if (value.type !== 'ArrayValue') {
      scope.lists.delete(name)
      return
    }
    const elements = listOf(value, tools)
    for (const one of elements) {
      const [, key, element] = /^\[([^\]]{1,80})\]=(.*)$/s.exec(one) ?? []
      if (key !== undefined) scope.vars.set(`${name}[${key}]`, element!)
    }
    lists.set(name, [...(append ? (scope.lists.get(name) ?? []) : []), ...elements])
  }
  for (const one of node.prefix) {
    if (!isAssignment(one)) continue
    note(one)
    const value = elementsOf(one.value, tools)
    // Arithmetic runs what an index substitutes.
    const index = /\[\$\((.+)\)\]/s.exec(value)?.[1]
    if (index !== undefined) reader.line(index, inner(scope))
    assignments.set(one.name, one.append ? `${variableOf(scope, one.name) ?? ''}${value}` : value)
  }
  const set = (at: Scope) => {
    for (const [name, value] of assignments)
      at.vars.set(name, value.includes(unknown) ? (value === unknown ? null : value) : value)
    for (const [name, elements] of lists) at.lists.set(name, elements)
  }
  if (node.name === undefined) {
    set(scope)
    const made = mixed(substituted)
    for (const [name, value] of assignments)
      if (
        made.secrets.length > 0 ||
        made.source === 'download' ||
        (made.source === 'decoded' && value.includes(unknown))
      )
        reader.all.names.set(name, made)
      else reader.all.names.delete(name)
    // `$(< file)` is the text of the file.
    const output = stdin !== null && stdin !== before ? { ...stdin, from: ['cat'] } : noOutput
    noteOutput(reader, targets, output, scope)
    if (targets.length > 0) reader.command([':'], scope, { ...nothing, redirected: targets })
    return output
  }
  const words = [
    ...fieldsOf(node.name, tools),
    ...node.args.flatMap((one): string[] =>
      isAssignment(one) ? [`${one.name}=${elementsOf(one.value, tools)}`] : fieldsOf(one as Word, tools),
    ),
  ]
  for (const one of node.args) if (isAssignment(one)) note(one)
  for (const [name, elements] of lists) scope.lists.set(name, elements)
  const given: Given = { stdin, substituted, assignments, redirected: targets }
  const at = assignments.size > 0 ? inner(scope, { depth: scope.depth }) : scope
  // Words are expanded before the assignments count, but what the command runs sees them.
  if (at !== scope) set(at)
  const output =
    (words.length > 0 && !scope.functions.has(words[0]!)
      ? builtin(reader, words, /^(?:read|mapfile|readarray)$/.test(words[0]!) ? scope : at, given)
      : null) ?? reader.command(words, at, given)
  noteOutput(reader, targets, output, scope)
  const isTaken = node.redirects.some(
    ({ operator, descriptor }) =>
      operator.includes('>') && !(descriptor?.type === 'FileDescriptor' && descriptor.value !== 1),
  )
  return isTaken && targets.some(({ access }) => access !== 'read') ? { ...output, text: '' } : output
}
