/** A release made without publishing: everything is there with its sum, and a package that is wrong is a problem. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeRelease } from '../../src/build/release.ts'
import { version } from '../../src/core/version.ts'
import { built, testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

test('it has the client, the program, the registry’s entry and the recipe, with sums that hold, and no problem', async () => {
  const dir = await testDir()
  // What is in the program is judged by its own test, and the site by its own.
  const program = join(dir, 'program')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
  const into = join(dir, 'release')
  const { files, problems } = await makeRelease(into, { program, withoutDocs: true, clientIsBuilt: built !== null })
  expect(problems).toEqual([])
  expect(JSON.parse(await readFile(join(into, 'npm/cstp/package.json'), 'utf8')).bin).toEqual({ cstp: 'cstp.mjs' })
  const machine = `${process.platform}-${process.arch}`
  expect(files.map(({ path }) => basename(path))).toEqual([
    `cstp-client-${version}.tgz`,
    `cstp-${version}.tgz`,
    `cstp-${machine}-${version}.tgz`,
    'server.json',
    `cstp-${version}.mcpb`,
    'Dockerfile',
  ])
  const lines = (await readFile(join(into, 'SHA256SUMS'), 'utf8')).trim().split('\n')
  expect(lines).toHaveLength(files.length)
  for (const line of lines) {
    const [sum, path] = line.split('  ') as [string, string]
    expect(
      createHash('sha256')
        .update(await readFile(join(into, path)))
        .digest('hex'),
    ).toBe(sum)
  }
})
