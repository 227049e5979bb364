/** What judges the packages of a release finds what is wrong with one. That it finds nothing in ours is in `release.test.ts`. */
import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageProblems } from '../../src/build/check-package.ts'
import { run, testDir } from '../support/process.ts'

/** A package of these files. */
async function packed(dir: string, files: Record<string, string>): Promise<string> {
  await mkdir(dir)
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  const { status, err } = await run([process.execPath, 'pm', 'pack', '--quiet'], { cwd: dir, env: { HOME: dir } })
  expect([status, err]).toEqual([0, ''])
  return join(dir, 'wrong-1.0.0.tgz')
}

test('they find what is wrong with a package: a file that is not there, and types that are not those of the code', async () => {
  const dir = await testDir()
  const manifest = { name: 'wrong', version: '1.0.0', type: 'module', license: 'Apache-2.0' }
  const exports = { '.': { types: './a.d.ts', default: './a.js' }, './b': './b.js' }
  const files = {
    'package.json': JSON.stringify({ ...manifest, exports }),
    'a.js': 'export const a = 1\n',
    'a.d.ts': "export { missing } from './missing'\n",
  }
  const problems = (await packageProblems(await packed(join(dir, 'wrong'), files))).join('\n')
  expect(problems).toContain('FILE_DOES_NOT_EXIST')
  expect(problems).toContain('InternalResolutionError')
})
