/** cstp guardrails: check, test, reload, backtest and shadow rule files. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import { ownPlace } from '../policy/places.ts'
import { defineCommand, type Run } from './command.ts'
import { connectionFlags, printCall } from './connection.ts'
import { misuse } from './failure.ts'
import { plain } from './terminal.ts'

// In a compiled binary all modules are at the root of the build, beside the folder.
const beside = import.meta.url.endsWith('/cli/guardrails.ts') ? '../../guardrails' : 'guardrails'
const shipped = join(import.meta.dir, beside)

type Connected = Run<typeof connectionFlags>

/** The directories given as arguments, else those of the settings and that of the data folder. */
async function places({ words, configuration }: Connected): Promise<readonly string[]> {
  if (words.length > 0) return words
  const { settings } = await configuration()
  const own = ownPlace(settings).filter((one) => !settings.guardrails_paths.includes(one) && existsSync(one))
  return [...settings.guardrails_paths, ...own]
}

const problemLine = ({ file, line, column, message }: RuleProblem): string =>
  plain(`${file}:${line}:${column}: ${message}`)

const about =
  'It takes folders, and the word shipped (the rules of this program), as GUARDRAILS_PATHS does. By default it reads those, and the folder guardrails of the data folder. It needs no server.'

const check = defineCommand({
  name: 'guardrails check',
  usage: '[place …]',
  summary: 'Report files that do not load, and suspicious rules.',
  about: [
    'With file, line and column: fields that were probably meant to be others, and rules that never fire, that another rule covers, that contradict, or that block without a message. What it reads is what a server would load. The exit status is 1 if a file does not load.',
    about.replace('folders', 'files, folders'),
  ],
  flags: connectionFlags,
  examples: [['cstp guardrails check shipped ./rules', 'the shipped rules and your own, before a deployment']],
  async run(run) {
    const { settings } = await run.configuration()
    return (await import('./guardrails-run.ts')).check(await places(run), run, settings)
  },
})

const test = defineCommand({
  name: 'guardrails test',
  usage: '[folder …]',
  summary: 'Run the table tests of the rules, and list the rules that no case fires.',
  about: [
    'A table test is a file *.test.yaml next to the rules: actions, each with its expected verdict. The exit status is 1 if a case fails.',
    about,
  ],
  flags: connectionFlags,
  examples: [['cstp guardrails test ./rules', 'run the table tests']],
  async run(run) {
    // The table tests of the shipped rules are files of the source tree, not part of the bundle.
    const folders = (await places(run)).flatMap((place) =>
      place !== 'shipped' ? [place] : existsSync(shipped) ? [shipped] : [],
    )
    if (folders.length === 0) throw misuse('missing folder: cstp guardrails test <folder>')
    return (await import('./guardrails-run.ts')).test(folders, run)
  },
})

const reload = defineCommand({
  name: 'guardrails reload',
  summary: 'Reload the guardrails of a server now (scope admin).',
  about: ['A server also reloads them within seconds of a change. The exit status is 1 if a file does not load.'],
  flags: connectionFlags,
  examples: [['cstp guardrails reload', 'after a change']],
  async run(run) {
    const { success } = await printCall(run, 'reloadGuardrails', {}, ({ success, total, policy_hash, errors }) => {
      const end = success
        ? `${total} rules in force, policy ${policy_hash.slice(0, 12)}`
        : `the files are invalid; the last valid rules stay in force (${total}, policy ${policy_hash.slice(0, 12)})`
      return `${[...errors.map(problemLine), end].join('\n')}\n`
    })
    return success ? 0 : 1
  },
})

const backtest = defineCommand({
  name: 'guardrails backtest',
  usage: '[file]',
  summary: 'Report what rules would have stopped.',
  about: [
    'Evaluates a file of rules that is not in force against the recorded decisions with a known outcome: how many the rules would have stopped, and how many of those failed or succeeded, with the 95 % interval of the failure rate.',
    'Without a file, reports the same for the rules in shadow mode, from the audit trail (scope admin).',
  ],
  flags: connectionFlags,
  examples: [['cstp guardrails backtest new-rule.yaml --local', 'what a new rule would have stopped']],
  run: async (run) => (await import('./guardrails-run.ts')).runBacktest(run.words[0] ?? null, run),
})

const shadow = defineCommand({
  name: 'guardrails shadow',
  usage: '<file>',
  summary: 'Put the rules of a file in shadow mode on a server (scope admin).',
  about: [
    'The server writes them to a new file in its folder of rules, each with mode: shadow: they stop nothing, and the audit trail records what they would have stopped. A rule that is already in force is refused. The exit status is 1 if nothing was written.',
  ],
  flags: connectionFlags,
  examples: [['cstp guardrails shadow new-rule.yaml', 'after a backtest']],
  async run(run) {
    const rules = await readFile(run.words[0]!, 'utf8')
    const { success } = await printCall(run, 'shadowGuardrails', { rules }, (result) => {
      const end = result.success
        ? `in shadow mode: ${result.rules.join(', ')} (${result.file})`
        : result.read_only
          ? 'no place of GUARDRAILS_PATHS is a folder that the server may write: add the file there by hand, each rule with mode: shadow'
          : 'nothing was written'
      return `${[...result.errors.map(problemLine), end].join('\n')}\n`
    })
    return success ? 0 : 1
  },
})

const explain = defineCommand({
  name: 'guardrails explain',
  usage: '<command>',
  summary: 'Show what is understood of a command, which rule stops it, and what to do instead.',
  about: [
    'Reads the command as a hook would report it from the current folder, with the rules and packs of the settings. Only rules that look at commands are evaluated, and nothing is run. The exit status is 1 if the command would be stopped.',
    'Put the command in single quotes. It needs no server.',
  ],
  flags: connectionFlags,
  examples: [['cstp guardrails explain \'sudo sh -c "git push -f"\'', 'why a command is stopped']],
  async run(run) {
    const { settings } = await run.configuration()
    return (await import('./guardrails-commands.ts')).explain(run.words[0]!, run, settings)
  },
})

const create = defineCommand({
  name: 'guardrails new',
  usage: '[path]',
  summary: 'Write a commented first file of rules, with its tests.',
  about: [
    'The path is a file that ends in .yaml, or a folder, which gets rules.yaml; by default the folder guardrails of the data folder, whose rules are in force without a setting. The rules are in shadow mode: they stop nothing until you remove that line. A file that exists is never overwritten.',
  ],
  flags: connectionFlags,
  examples: [
    ['cstp guardrails new', 'rules of your own, in the data folder'],
    ['cstp guardrails new .cstp/guardrails', 'rules of this repository, for everybody who works in it'],
    ['cstp guardrails new ./rules', 'rules that GUARDRAILS_PATHS names'],
  ],
  async run(run) {
    const own = ownPlace((await run.configuration()).settings)[0]
    const given = run.words[0] ?? own
    if (given === undefined) throw misuse('missing path: cstp guardrails new <path>')
    return (await import('./guardrails-commands.ts')).createRules(given, own, run)
  },
})

export const guardrails = defineCommand({
  name: 'guardrails',
  summary: 'Explain commands; write, check, test, reload, backtest and shadow guardrail files.',
  about: ['Check and test before a deployment, backtest before a rule goes live.'],
  verbs: [explain, create, check, test, reload, backtest, shadow],
  examples: [
    ['cstp guardrails check shipped ./rules', 'the shipped rules and your own'],
    ['cstp help guardrails backtest', 'what one of them does'],
  ],
})
