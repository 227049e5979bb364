/** What reference pages show is what the program does: examples of calls, the sample of a decision, drivers and settings. */
import { expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sample } from '../../src/generate/decision-file.ts'
import { exampleOf } from '../../src/generate/examples.ts'
import { methods } from '../../src/methods/table.ts'
import { bareEnv, cstpCommand, root, run, testDir } from '../support/process.ts'

const page = (name: string): Promise<string> => readFile(join(root, 'docs/reference', name), 'utf8')

test('the sample of a decision is a file that the program reads, and answers as it is', async () => {
  const dir = await testDir()
  const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(await page('decision-file.md'))!
  const path = join(dir, 'decisions/2026/03', `${sample.id}.yaml`)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, yaml!)
  const { out, status } = await run(
    [...cstpCommand, 'call', 'getDecision', JSON.stringify({ id: sample.id }), '--local'],
    { cwd: dir, env: { ...bareEnv(dir), CSTP_DATA_DIR: dir, CSTP_EMBEDDER: 'hash' } },
  )
  expect(status).toBe(0)
  expect(JSON.parse(out)).toMatchObject(JSON.parse(JSON.stringify(sample)))
})

test('every method has an example whose parameters fit, with no word of the transcripts in it', async () => {
  const { safeParse } = await import('valibot')
  for (const [name, { params }] of methods) {
    const example = await exampleOf(name.replace('cstp.', ''))
    expect({ name, issues: safeParse(params, example.params).issues?.map(({ message }) => message) }).toEqual({
      name,
      issues: undefined,
    })
    expect(JSON.stringify(example)).not.toMatch(/"<[^"]*>"|"\$\w+|"\.\.\."/)
  }
})

test('settings with a closed list of values name them, and no comment leaves its frame behind', async () => {
  expect(await page('settings.md')).toContain('- Value: one of local, huggingface, openai, hash')
  expect(await page('settings.md')).not.toContain('[object')
  expect(await page('methods.md')).not.toMatch(/\b(?:alice|bob|carol)\b/)
  expect(await page('drivers.md')).not.toMatch(/\*\s/)
})
