/** Entry point of the program: runs the command line, or what a server has started to write its search index. */
import { run } from './cli/run.ts'

const args = process.argv.slice(2)

if (args[0] === 'rewrite-index') await (await import('./drivers/search/lancedb/rewrite.ts')).rewriteHere()
process.exitCode = await run(args)
