/** What rules see of a command line or of a tool for files. */
import { type Edit, editOf } from './edit.ts'
import type { Access, Invocation, Surroundings, Target, Understanding } from './model.ts'
import { normal } from './paths.ts'
import { readLine } from './reader.ts'

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
