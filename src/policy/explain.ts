/** Explains what is understood of a command, and which rules apply to it, as `cstp guardrails explain` prints it. */
import { actionFields } from '../../sdk/schema/action.ts'
import type { Condition } from '../../sdk/schema/guardrail.ts'
import type { Violation } from '../../sdk/schema/policy.ts'
import type { ProjectFile } from '../domain/hook/event.ts'
import { projectStops } from '../domain/hook/project-rules.ts'
import { withBreakers } from '../domain/policy/judge/breakers.ts'
import type { Action } from '../domain/policy/rules/action.ts'
import { commandFacts } from '../domain/policy/rules/command.ts'
import { evaluate } from '../domain/policy/rules/evaluate.ts'
import { recordedHistory } from '../domain/policy/rules/history.ts'
import type { PolicySet } from '../domain/policy/rules/set.ts'
import { compileDraft } from './files.ts'

export interface ExplainedProgram {
  program: string
  args: string[]
  flags: string[]
  /** The programs that run it, from the outside. */
  via: string[]
  targets: { access: string; class: string; path: string }[]
  code_from: string | null
  opaque: boolean
}

export interface Explanation {
  command: string
  programs: ExplainedProgram[]
  /** Why a part of it could not be read. */
  opaque: string[]
  verdict: string
  allowed: boolean
  /** The command that would run instead, if a rule changes it. */
  instead: string | null
  /** Rules that stop it or warn about it. */
  rules: Pick<Violation, 'guardrail_id' | 'name' | 'message' | 'suggestion' | 'severity'>[]
  /** Rules that look at commands. */
  evaluated: number
}

const looksAtCommand = (condition: Condition): boolean => {
  switch (condition.type) {
    case 'command':
      return true
    case 'cel':
      return /(?<![\w.])(?:command|edit)\b|context\.command/.test(condition.expression)
    case 'field':
      return condition.field === 'context.command' || condition.field === 'command'
    case 'compound':
      return condition.conditions.some(looksAtCommand)
    default:
      return false
  }
}

/** Explains a command that would run in a folder. Only rules that look at commands are evaluated, without anything of the past. */
export async function explainCommand(
  set: PolicySet,
  command: string,
  cwd: string,
  now_ms: number,
  /** The rule files of the repository around the folder. */
  files: readonly ProjectFile[] = [],
): Promise<Explanation> {
  const none = Object.fromEntries(Object.keys(actionFields).map((name) => [name, null]))
  const action = {
    ...none,
    description: 'Bash',
    category: 'tool_use',
    tags: [],
    agent_id: 'explain',
    phase: 'check',
    context: { tool: 'Bash', command, cwd, project_dir: cwd },
  } as unknown as Action
  const rules = set.rules.filter(({ rule }) => rule.conditions.some(looksAtCommand))
  const own = await projectStops({ draft: compileDraft }, files, action, now_ms, () => {})
  const { allowed, verdict, violations, warnings, changes } = withBreakers(
    await evaluate(rules, action, recordedHistory(now_ms, {}), () => {}),
    own.stops,
  )
  const { invocations, opaque } = commandFacts(action)
  return {
    command,
    programs: invocations.map(({ program, args, flags, via, targets, code_from, opaque: isOpaque }) => ({
      program,
      args,
      flags,
      via,
      targets: targets.map(({ access, class: kind, path }) => ({ access, class: kind, path })),
      code_from,
      opaque: isOpaque,
    })),
    opaque: own.problem === null ? opaque : [...opaque, `.cstp/guardrails is not applied: ${own.problem}`],
    verdict,
    allowed,
    instead: (changes.findLast(({ field }) => field === 'context.command')?.after as string | undefined) ?? null,
    rules: [...violations, ...warnings].map(({ guardrail_id, name, message, suggestion, severity }) => ({
      guardrail_id,
      name,
      message,
      suggestion,
      severity,
    })),
    evaluated: rules.length,
  }
}

/** A first file of rules, with everything that it may contain explained. */
const firstRules = `# Rules for this project. Each one says when it applies, what it does, why, and what to do instead.
#   cstp guardrails check <folder>      reports mistakes
#   cstp guardrails explain '<command>' shows what is understood of a command, and which rule stops it
#   cstp guardrails test <folder>       runs the cases of the file *.test.yaml beside this one
# All fields: docs/reference/guardrails.md; how to write rules: docs/guide/guardrails.md.
guardrails:
  # A command, however it is written: behind sudo, in bash -c, in a here-document …
  - id: team.no-publish
    description: Releases are made by the pipeline.
    # block stops it, step_up asks a person, warn says so, log only records it.
    action: step_up
    # shadow: the rule stops nothing, and the audit trail says what it would have stopped. Remove the line to enforce it.
    mode: shadow
    conditions:
      - { type: command, program: [npm, pnpm, yarn], subcommand: publish, flags: { none: [--dry-run] } }
    message: This publishes a package
    suggestion: Look at it with npm pack --dry-run; the pipeline publishes it

  # A path, whatever touches it: a command, or a tool for files such as Write and Edit.
  - id: team.no-generated-files
    description: Generated files are changed by their generator.
    action: warn
    mode: shadow
    conditions:
      - { type: cel, expression: '(command.writes + edit.paths).exists(p, matches(p, "/generated/"))' }
    message: This changes a generated file
    suggestion: Change its source and run the generator
`

/** The cases beside it. */
const firstTests = `cases:
  - name: a build passes
    action: { description: Bash, context: { command: npm run build } }
    expect: pass
  - name: publishing is noticed, even behind other commands
    action: { description: Bash, context: { command: "npm test && sudo npm publish" } }
    # A rule in shadow mode stops nothing; with it enforced, write block.
    expect: pass
    fires: [team.no-publish]
  - name: a generated file
    action: { description: Edit, context: { tool: Edit, file_path: src/generated/a.ts, cwd: /app } }
    expect: pass
    fires: [team.no-generated-files]
`

export const firstFiles = [firstRules, firstTests] as const

/** The first file of a repository, whose rules are in force at once, and its cases. */
export const firstOfRepository = [
  `# Rules of this repository. They stop more calls of everybody who works in it with hooks, and can do nothing else.
#   cstp guardrails explain '<command>' shows what is understood of a command, and which rule stops it
#   cstp guardrails test <folder>       runs the cases of the file *.test.yaml beside this one
guardrails:
  # A command, however it is written: behind sudo, in bash -c, in a here-document …
  - id: no-publish
    description: Releases are made by the pipeline.
    conditions:
      - { type: command, program: [npm, pnpm, yarn], subcommand: publish, flags: { none: [--dry-run] } }
    message: This publishes a package
    suggestion: Look at it with npm pack --dry-run; the pipeline publishes it
`,
  `cases:
  - name: a build passes
    action: { description: Bash, context: { command: npm run build } }
    expect: pass
  - name: publishing is stopped, even behind other commands
    action: { description: Bash, context: { command: "npm test && sudo npm publish" } }
    expect: block
    fires: [no-publish]
`,
] as const
