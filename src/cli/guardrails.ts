/** cstp guardrails: check, test, reload and backtest rule files. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineCommand } from './command.ts'
import { connectionFlags, withConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { plain, print } from './terminal.ts'

// In a compiled binary all modules are at the root of the build, with the folder beside them.
const beside = import.meta.url.endsWith('/cli/guardrails.ts') ? '../../guardrails' : 'guardrails'
const shipped = join(import.meta.dir, beside)

export const guardrails = defineCommand({
  name: 'guardrails',
  usage: 'check|test [place …] | reload | backtest [file] [flags]',
  summary: 'Check, test, reload and backtest guardrail files.',
  about: [
    'check reports what does not load, with file, line and column, and what loads but is suspicious: fields that were probably meant to be others, and rules that never fire, that another rule covers, that contradict, or that block without a message. The exit status is 1 if a file does not load.',
    'test runs the tables beside the rules (*.test.yaml: an action, the expected verdict) and names the rules that no case fires. The exit status is 1 if a case fails.',
    'Both take folders, and check takes files and the word shipped (the rules of this program) too, as GUARDRAILS_PATHS does, which they read by default. What check reads is what a server would load. Neither needs a server.',
    'reload makes a server reload its guardrails now (scope admin); otherwise it does so every five minutes.',
    'backtest takes a file of rules that is not active and evaluates the recorded decisions whose outcome is known: how many the rules would have stopped, and how many of those failed or succeeded, with the 95 % interval of the failure rate. Without a file it does so for the rules in force that are in shadow mode, by what the audit trail says that they would have stopped (scope admin).',
  ],
  flags: connectionFlags,
  words: [1, 33],
  examples: [
    ['cstp guardrails check shipped ./rules', 'the shipped rules and your own, before a deployment'],
    ['cstp guardrails test ./rules', 'run the table tests'],
    ['cstp guardrails backtest new-rule.yaml --local', 'what a new rule would have stopped'],
  ],
  async run(run) {
    const [verb, ...given] = run.words
    const most = verb === 'reload' ? 0 : verb === 'backtest' ? 1 : given.length
    const extra = given[most]
    if (extra !== undefined) throw misuse(`unexpected argument ${JSON.stringify(extra)}; see cstp help guardrails`)
    const places = async () => (given.length > 0 ? given : (await run.configuration()).settings.guardrails_paths)
    switch (verb) {
      case 'check': {
        const { settings } = await run.configuration()
        return (await import('./guardrails-run.ts')).check(await places(), run, settings)
      }
      case 'test': {
        // The tables of the shipped rules are files of the source, not of the program.
        const folders = (await places()).flatMap((place) =>
          place !== 'shipped' ? [place] : existsSync(shipped) ? [shipped] : [],
        )
        if (folders.length === 0) throw misuse('missing folder: cstp guardrails test <folder>')
        return (await import('./guardrails-run.ts')).test(folders, run)
      }
      case 'backtest':
        return (await import('./guardrails-run.ts')).runBacktest(given[0] ?? null, run)
      case 'reload': {
        const result = await withConnection(run, ({ call }) => call('reloadGuardrails', {}))
        const { success, total, policy_hash, errors } = result
        const lines = errors.map(({ file, line, column, message }) => plain(`${file}:${line}:${column}: ${message}`))
        const end = success
          ? `${total} rules in force, policy ${policy_hash.slice(0, 12)}`
          : `the files are invalid; the last valid rules stay in force (${total}, policy ${policy_hash.slice(0, 12)})`
        await print(run, result, () => `${[...lines, end].join('\n')}\n`)
        return success ? 0 : 1
      }
      default:
        throw misuse(`${JSON.stringify(verb)} is not one of check, test, reload, backtest; see cstp help guardrails`)
    }
  },
})
