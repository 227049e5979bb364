/** What people call of the client has an example in its documentation, and every method is under a subject. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as client from '../../sdk/client.ts'
import * as ai from '../../sdk/frameworks/ai.ts'
import * as claude from '../../sdk/frameworks/claude-agent.ts'
import * as guard from '../../sdk/frameworks/guard.ts'
import * as langchain from '../../sdk/frameworks/langchain.ts'
import * as openai from '../../sdk/frameworks/openai-agents.ts'
import * as conformance from '../../sdk/storage/conformance/index.ts'
import * as storage from '../../sdk/storage/index.ts'
import { root } from '../support/process.ts'

const isClass = (value: unknown): boolean => /^class\b/.test(Function.prototype.toString.call(value))

test('every function of the client, the adapters, the storage ports and the suites has an example', async () => {
  const entries = [client, ai, claude, guard, langchain, openai, storage, conformance]
  const names = entries.flatMap((entry) =>
    Object.entries(entry).flatMap(([name, value]) => (typeof value === 'function' && !isClass(value) ? [name] : [])),
  )
  expect(names.length).toBeGreaterThan(10)
  const files = [...new Bun.Glob('sdk/**/*.ts').scanSync({ cwd: root })].filter((file) => !file.includes('dist/'))
  const text = (await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')))).join('\n')
  const shown = new Set(
    [...text.matchAll(/@example\s(?:(?!\*\/)[\s\S])*\*\/\nexport (?:async )?(?:function\*?|const) (\w+)/g)].map(
      ([, name]) => name,
    ),
  )
  expect([...new Set(names)].filter((name) => !shown.has(name))).toEqual([])
})

test('every method has an example and a subject', async () => {
  const text = await readFile(join(root, 'sdk/client.gen.ts'), 'utf8')
  const methods = /export interface Methods \{([\s\S]*?)\n\}/.exec(text)![1]!
  const functions = methods.match(/^ {2}\w+\(params/gm) ?? []
  expect(functions.length).toBeGreaterThan(40)
  expect(methods.match(/@category \w/g)).toHaveLength(functions.length)
  expect(methods.match(/@example\n/g)).toHaveLength(functions.length)
})
