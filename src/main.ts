/** The program: argv to a command. */
import { run } from './cli/run.ts'

process.exitCode = await run(process.argv.slice(2))
