/** Entry point of the program: runs the command line. */
import { run } from './cli/run.ts'

process.exitCode = await run(process.argv.slice(2))
