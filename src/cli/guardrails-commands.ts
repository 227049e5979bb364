/** Implements cstp guardrails explain and new. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { surroundings } from '../../plugin/hooks/cstp-hook.mjs'
import type { Settings } from '../app/config/config.ts'
import { loadRules } from '../policy/check.ts'
import {
  type ExplainedProgram,
  type Explanation,
  explainCommand,
  firstFiles,
  firstOfRepository,
} from '../policy/explain.ts'
import type { Run } from './command.ts'
import { Failure } from './failure.ts'
import { plain, plural, print } from './terminal.ts'

type Output = Pick<Run, 'terminal' | 'json'>

const from: Record<string, string> = {
  text: 'code on the line',
  file: 'code from a file',
  download: 'code from the network',
  decoded: 'decoded text',
  output: 'the output of a program',
}

function programLines({ program, args, flags, via, targets, code_from, opaque }: ExplainedProgram): string[] {
  const name = program === '' ? '(only known at run time)' : program
  const behind = via.length === 0 ? '' : `  in ${plain([...new Set(via)].join(', '))}`
  const runs = code_from === null ? '' : `  runs ${from[code_from]}${opaque ? ', which can’t be read' : ''}`
  const words = [name, ...args, ...flags.filter((one) => !/^-\w{2,}$/.test(one))].join(' ').slice(0, 200)
  return [
    `  ${plain(words)}${behind}${runs}`,
    ...targets.map((one) => `    ${one.access} ${plain(one.path)} (${one.class.replace('_', ' ')})`),
  ]
}

/** What happens to the command, and how many rules say so. */
function headline(
  { allowed, instead, rules, verdict, evaluated }: Explanation,
  paint: Output['terminal']['paint'],
): string {
  const asked = `${plural(evaluated, 'rule')} about commands`
  if (instead !== null) return `${paint.green(`runs instead: ${plain(instead)}`)}\nchanged by one of ${asked}`
  if (rules.length === 0) return `${paint.green('allowed')}: none of ${asked} stops it`
  const said = `${rules.length} of ${asked}`
  if (allowed) return `${paint.yellow('allowed, with a warning')}: ${said} warned`
  const stopped =
    verdict === 'deny' ? 'denied' : verdict === 'step_up' ? 'stopped until a person approves it' : 'deferred'
  return `${paint.red(stopped)}: ${said} fired`
}

/** Resolves with the exit status: 1 if the command would be stopped. */
export async function explain(
  command: string,
  run: Output,
  settings: Pick<Settings, 'guardrails_paths' | 'categories' | 'environments' | 'packs' | 'data_dir'>,
): Promise<number> {
  const set = await loadRules(settings.guardrails_paths, settings)
  const cwd = process.cwd()
  const found = await explainCommand(set, command, cwd, Date.now(), surroundings({}, cwd).project_rules)
  await print(run, found, () => {
    const { paint } = run.terminal
    const lines = [
      found.programs.length === 0 ? 'It runs no program.' : 'It runs:',
      ...found.programs.flatMap(programLines),
      ...found.opaque.map((why) => paint.yellow(`  not read: ${plain(why)}`)),
      '',
      ...found.rules.flatMap(({ guardrail_id, name, message, suggestion, severity }) => [
        `${severity === 'block' ? paint.red(guardrail_id) : paint.yellow(guardrail_id)}: ${plain(name)}`,
        `  ${plain(message)}`,
        ...(suggestion === null ? [] : [`  Instead: ${plain(suggestion)}`]),
      ]),
      headline(found, paint),
    ]
    return `${lines.join('\n')}\n`
  })
  return found.allowed ? 0 : 1
}

/** Writes a first file of rules and its tests; never over a file. @param own the folder whose rules are in force without a setting */
export async function createRules(given: string, own: string | undefined, run: Output): Promise<number> {
  const rules = resolve(/\.ya?ml$/.test(given) ? given : join(given, 'rules.yaml'))
  const tests = rules.replace(/\.ya?ml$/, '.test.yaml')
  const folder = dirname(rules)
  const isRepository = folder.endsWith(join('.cstp', 'guardrails'))
  const [first, cases] = isRepository ? firstOfRepository : firstFiles
  await mkdir(folder, { recursive: true })
  for (const [path, text] of [
    [rules, first],
    [tests, cases],
  ] as const) {
    await writeFile(path, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? new Failure(`there is a file ${path} already; name another one`) : error
    })
  }
  const inForce =
    folder === (own && resolve(own))
      ? 'a service of this data folder loads it within seconds'
      : isRepository && 'calls of tools in this repository are judged by it from now on'
  await print(run, { rules, tests }, () =>
    [
      `wrote ${plain(rules)}`,
      `wrote ${plain(tests)}`,
      `next: cstp guardrails test${folder === (own && resolve(own)) ? '' : ` ${plain(folder)}`}`,
      inForce || `to put it in force: GUARDRAILS_PATHS=shipped:${plain(folder)}`,
      '',
    ].join('\n'),
  )
  return 0
}
