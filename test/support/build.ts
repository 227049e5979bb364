/** Builds what `npm test` runs and packs: the program in `dist/test`, the client in `sdk/dist`. */
import { join } from 'node:path'
import { build } from '../../src/build/main.ts'

const root = join(import.meta.dir, '../..')
const client = Bun.spawn([process.execPath, join(root, 'src/generate/build-sdk.ts')], {
  stdio: ['ignore', 'inherit', 'inherit'],
})
await build({ outfile: join(root, 'dist/test/cstp') })
process.exitCode = await client.exited
