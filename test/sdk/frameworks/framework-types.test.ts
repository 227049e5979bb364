/** The adapters' types are those that the frameworks' own compilers accept, though the client depends on none of them. */
import { expect, test } from 'bun:test'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, run, testDir } from '../../support/process.ts'
import { folder, frameworkAt } from './world.ts'

const packages = ['@anthropic-ai/claude-agent-sdk', '@langchain/langgraph', '@openai/agents', 'langchain', 'zod']
const installed = packages.every((name) => frameworkAt(name) !== null)

const use = `
import { query } from '@anthropic-ai/claude-agent-sdk'
import { createClient } from '@cstp/client'
import { guardHooks } from '@cstp/client/claude-agent'
import { wrapToolCall } from '@cstp/client/langchain'
import { guardTool } from '@cstp/client/openai-agents'
import { interrupt } from '@langchain/langgraph'
import { tool } from '@openai/agents'
import { createMiddleware, ToolMessage } from 'langchain'
import * as z from 'zod'

const client = createClient({ url: 'http://127.0.0.1:9991', agent: 'a', token: 't' })
query({ prompt: 'Go', options: { hooks: guardHooks({ client, matcher: 'Bash' }) } })
createMiddleware({ name: 'cstp', wrapToolCall: wrapToolCall({ client, ToolMessage, interrupt }) })
tool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  execute: async ({ amount }) => amount.toFixed(2),
  ...guardTool('pay', { client }),
})
// @ts-expect-error: the class of the messages is missing
wrapToolCall({ client })
// @ts-expect-error: there is no such choice
guardTool('pay', { client, fail: 'ask' })
`
const compilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true, types: [] },
  ...{ target: 'esnext', module: 'esnext', moduleResolution: 'bundler', lib: ['esnext', 'dom'] },
  allowImportingTsExtensions: true,
  paths: { '@cstp/client': [join(root, 'sdk/client.ts')], '@cstp/client/*': [join(root, 'sdk/frameworks/*.ts')] },
}

test.skipIf(!installed)(
  'they fit hooks, middleware and tools',
  async () => {
    const dir = await testDir()
    await symlink(join(folder, 'node_modules'), join(dir, 'node_modules'))
    await writeFile(join(dir, 'use.ts'), use)
    await writeFile(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const env = { PATH: process.env.PATH ?? '', HOME: dir }
    const { status, out } = await run([process.execPath, compiler, '-p', '.'], { cwd: dir, env })
    expect([status, out]).toEqual([0, ''])
  },
  120_000,
)
