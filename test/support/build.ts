/** Builds the program that the processes of `npm test` are: `bun test/support/build.ts`. */
import { join } from 'node:path'
import { build } from '../../src/build/main.ts'

await build({ outfile: join(import.meta.dir, '../../dist/test/cstp') })
