/** Builds `sdk/dist`: JavaScript and type declarations that work without this repository. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const sdk = join(import.meta.dir, '../../sdk')
const dist = join(sdk, 'dist')

await rm(dist, { recursive: true, force: true })
const compiler = join(import.meta.dir, '../../node_modules/typescript/bin/tsc')
const { exitCode, stdout } = Bun.spawnSync([process.execPath, compiler, '-p', sdk], { stdout: 'pipe' })
if (exitCode !== 0) throw new Error(`the compiler says:\n${stdout}`)

const files = await readdir(dist, { recursive: true })
for (const file of files.filter((one) => one.endsWith('.d.ts'))) {
  const path = join(dist, file)
  const text = await readFile(path, 'utf8')
  // In declarations, the compiler does not rename imported `.ts` files to their output.
  await writeFile(path, text.replace(/((?:from|import\()\s*['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
}
console.log(`sdk/dist: ${files.filter((one) => one.endsWith('.js')).length} modules`)
