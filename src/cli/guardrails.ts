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
  usage: 'check|test [folder] | reload | backtest [file] [flags]',
  summary: 'Check, test, reload and backtest guardrail files.',
  about: [
    'check reports what does not load, with file, line and column, and what loads but is suspicious: fields that were probably meant to be others, and rules that never fire, that another rule covers, that contradict, or that block without a message. The exit status is 1 if a file does not load.',
    'test runs the tables beside the rules (*.test.yaml: an action, the expected verdict) and names the rules that no case fires. The exit status is 1 if a case fails.',
    'Both take a folder; by default those of GUARDRAILS_PATHS, else the shipped rules. Neither needs a server.',
    'reload makes a server reload its guardrails now (scope admin); otherwise it does so every five minutes.',
    'backtest takes a file of rules that is not active and evaluates the recorded decisions whose outcome is known: how many the rules would have stopped, and how many of those failed or succeeded, with the 95 % interval of the failure rate. Without a file it does so for the rules in force that are in shadow mode, by what the audit trail says that they would have stopped (scope admin).',
  ],
  flags: connectionFlags,
  words: [1, 2],
  examples: [
    ['cstp guardrails check ./rules', 'before a deployment, in a pipeline'],
    ['cstp guardrails test ./rules', 'run the table tests'],
    ['cstp guardrails backtest new-rule.yaml --local', 'what a new rule would have stopped'],
  ],
  async run(run) {
    const [verb, path] = run.words
    const own = async () => (path === undefined ? (await run.configuration()).settings : undefined)
    const paths = async () => (await own())?.guardrails_paths ?? (path === undefined ? null : [path])
    switch (verb) {
      case 'check':
        return (await import('./guardrails-run.ts')).check(await paths(), run, await own())
      case 'test': {
        const folders = (await paths()) ?? (existsSync(shipped) ? [shipped] : null)
        if (folders === null) throw misuse('missing folder: cstp guardrails test <folder>')
        return (await import('./guardrails-run.ts')).test(folders, run)
      }
      case 'backtest':
        return (await import('./guardrails-run.ts')).runBacktest(path ?? null, run)
      case 'reload': {
        if (path !== undefined)
          throw misuse(`unexpected argument ${JSON.stringify(path)}; usage: cstp guardrails reload`)
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
