/** A release made without publishing: everything is there with its sum, and a package that is wrong is a problem. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import Ajv from 'ajv'
import formats from 'ajv-formats'
import { makeRelease } from '../../src/build/release.ts'
import { billOfMaterials } from '../../src/build/sbom.ts'
import { version } from '../../src/core/version.ts'
import { built, root, testDir } from '../support/process.ts'

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
    `cstp-${version}.cdx.json`,
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

test('the bill of materials is CycloneDX, and has every package of the program with its digest', async () => {
  const schema = (name: string) =>
    Bun.file(join(root, 'node_modules/@cyclonedx/cyclonedx-library/res/schema', `${name}.SNAPSHOT.schema.json`)).json()
  const ajv = new Ajv({ strict: false, formats: { 'iri-reference': true } })
  formats(ajv)
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema({ ...(await schema(name)), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` })
  const valid = ajv.compile(await schema('bom-1.6'))
  const made = billOfMaterials() as { components: { name: string; hashes?: object[] }[] }
  expect([valid(made), valid.errors]).toEqual([true, null])
  const { dependencies } = await Bun.file(join(root, 'package.json')).json()
  const names = made.components.map(({ name }) => name)
  for (const name of ['bun', ...Object.keys(dependencies)]) expect(names).toContain(name)
  expect(made.components.filter(({ hashes }) => hashes === undefined)).toEqual([])
})
