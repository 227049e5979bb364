/** cstp guardrails: check, test, reload and backtest rule files. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineCommand } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { plain, prettyJson } from './terminal.ts'

// In a compiled binary all modules stand at the root of the build, and the folder beside them.
const beside = import.meta.url.endsWith('/cli/guardrails.ts') ? '../../guardrails' : 'guardrails'
const shipped = join(import.meta.dir, beside)

export const guardrails = defineCommand({
  name: 'guardrails',
  usage: 'check|test [folder] | reload | backtest <file> [flags]',
  summary: 'Check, test, reload and backtest guardrail files.',
  about: [
    'check says what does not load, with file, line and column, and what loads but is suspicious: fields that were meant to be others, rules that never fire, that another one covers, that contradict, or that block without a message. The exit status is 1 where a file does not load.',
    'test runs the tables beside the rules (*.test.yaml: an action, the expected verdict) and names the rules that no case fires. The exit status is 1 where a case fails.',
    'Both look at a folder or, without one, at those of GUARDRAILS_PATHS, else at the shipped rules. Neither needs a server.',
    'reload makes a server read its files now (scope admin). Without it they are read every five minutes.',
    'backtest takes a file of rules that is not active and judges the recorded decisions whose outcome is known: how many it would have stopped, and how many of those failed or succeeded, with the 95 % interval of the failure rate.',
  ],
  flags: connectionFlags,
  words: [1, 2],
  examples: [
    ['cstp guardrails check ./rules', 'before a deployment, in a pipeline'],
    ['cstp guardrails test ./rules', 'run the table tests'],
    ['cstp guardrails backtest new-rule.yaml --local', 'what a new rule would have stopped'],
  ],
  async run(run) {
    const { words, json, terminal } = run
    const [verb, path] = words
    const open = () => openConnection(run, { signal: run.signal })
    const paths = async () => (path === undefined ? (await run.configuration()).settings.guardrails_paths : [path])
    switch (verb) {
      case 'check':
        return (await import('./guardrails-run.ts')).check(await paths(), run)
      case 'test': {
        const folders = (await paths()) ?? (existsSync(shipped) ? [shipped] : null)
        if (folders === null) throw misuse('name a folder: cstp guardrails test <folder>')
        return (await import('./guardrails-run.ts')).test(folders, run)
      }
      case 'backtest':
        if (path === undefined) throw misuse('name a file: cstp guardrails backtest <file>')
        return (await import('./guardrails-run.ts')).runBacktest(path, open, run)
      case 'reload': {
        if (path !== undefined) throw misuse(`${JSON.stringify(path)} is too much; usage: cstp guardrails reload`)
        const connection = await open()
        try {
          const result = await connection.call('reloadGuardrails', {})
          const { success, total, policy_hash, errors } = result
          const lines = errors.map(({ file, line, column, message }) => plain(`${file}:${line}:${column}: ${message}`))
          const end = success
            ? `${total} rules in force, policy ${policy_hash.slice(0, 12)}`
            : `the files are wrong; the last good rules stay in force (${total}, policy ${policy_hash.slice(0, 12)})`
          await terminal.out(json ? prettyJson(result) : `${[...lines, end].join('\n')}\n`)
          return success ? 0 : 1
        } finally {
          await connection.close()
        }
      }
      default:
        throw misuse(`${JSON.stringify(verb)} is none of check, test, reload, backtest; cstp help guardrails`)
    }
  },
})
