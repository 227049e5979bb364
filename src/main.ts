/** The program: argv to a command. */
import { run } from './surfaces/cli/run.ts'

process.exitCode = await run(process.argv.slice(2))
