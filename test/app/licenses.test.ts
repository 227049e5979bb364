/** The licences that the program prints: one for every package that it needs, with its text, and of no package that is replaced. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { licenses } from '../../src/app/licenses.ts'
import { root } from '../support/process.ts'

test('every dependency and the runtime are there, by version, and the licence of cstp comes first', async () => {
  const text = await licenses()
  expect(text).toStartWith((await readFile(join(root, 'LICENSE'), 'utf8')).trim().slice(0, 200))
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies }))
    expect(text).toContain(`\n${name} ${version}\n`)
  expect(text).toMatch(/^bun \d/m)
  expect(text.match(/Permission is hereby granted/g)!.length).toBeGreaterThan(20)
  expect(text).not.toContain('empty-package')
})

test('packages that are never loaded are replaced by a stub of this repository', async () => {
  const { overrides } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  for (const place of Object.values(overrides)) expect(place).toBe('file:./src/build/empty-package')
  expect(await readFile(join(root, 'bun.lock'), 'utf8')).not.toContain('empty-npm-package')
})
