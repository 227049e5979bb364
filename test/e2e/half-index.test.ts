/** A folder of decisions without its database: until every decision has its vectors again, each surface says that it searched a part. */
import { expect, test } from 'bun:test'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '../../sdk/client.ts'
import { serveOpenai } from '../support/embedder-servers.ts'
import { bareEnv, cstp, root, startServer, testDir, testServer, until } from '../support/process.ts'
import { jsonOf, overHttp } from '../surfaces/mcp/peers.ts'

const decisions = ['Keep the ledger in double entry', 'Close the ledger every month', 'Round the ledger to cents']
const question = 'How do we do double entry bookkeeping?'
const token = 'ada:a-token-of-sixteen-characters'

test('what is found says how much was searched, on every surface, until all is', async () => {
  const dir = await testDir()
  const release = Promise.withResolvers<void>()
  let holds = false
  // Decisions get no vectors while it holds; questions do.
  const provider = serveOpenai(async (_, { texts }) => {
    if (holds && texts.some((text) => text.includes('ledger'))) await release.promise
    return undefined
  })
  const env = {
    CSTP_EMBEDDER: 'openai',
    CSTP_EMBEDDING_URL: provider.url,
    CSTP_EMBEDDING_MODEL: 'test',
    CSTP_AUTH_TOKENS: token,
  }
  try {
    const before = await startServer({ dir, env })
    for (const decision of decisions)
      await before.call('recordDecision', { decision, confidence: 0.8, category: 'books' })
    await before.kill()
    // As from decision files alone: with the mark, the store would be missed.
    for (const name of await readdir(dir)) if (name.startsWith('cstp.db')) await rm(join(dir, name))
    await rm(join(dir, 'keys/thread.mark'))
    holds = true

    const server = await testServer({ dir, env })
    const index = { complete: false, indexed: 0, total: 3 }
    const partial = { degraded: true, no_precedent: false, index }
    expect(await (await fetch(`${server.url}/ready`)).json()).toEqual({ status: 'ready', index })
    for (const retrieval_mode of ['semantic', 'keyword', 'hybrid'])
      expect(await server.call('queryDecisions', { query: question, retrieval_mode })).toMatchObject(partial)
    // Words are complete from the start.
    expect(await server.call('queryDecisions', { query: 'double entry', retrieval_mode: 'hybrid' })).toMatchObject({
      decisions: [{ title: decisions[0] }],
    })
    const action = { description: question, category: 'books' }
    expect(await server.call('preAction', { action, options: { auto_record: false } })).toMatchObject(partial)
    for (const format of ['json', 'markdown'])
      expect(await server.call('getSessionContext', { task_description: question, format })).toMatchObject(partial)

    const client = createClient({ url: server.url, agent: 'ada', token: token.slice(4) })
    expect(await client.queryDecisions({ query: question })).toMatchObject(partial)

    const peer = await overHttp('v2', server.url, token)
    const tool = async (name: string, input: object) =>
      jsonOf(await peer.callTool({ name, arguments: { ...input } as Record<string, unknown> }))
    expect(await tool('query_decisions', { query: question })).toMatchObject(partial)
    expect(await tool('pre_action', { ...action, auto_record: false })).toMatchObject(partial)
    const context = await tool('get_session_context', { task_description: question })
    expect(context).toMatchObject(partial)
    expect(context.markdown).toContain('Index incomplete: 0 of 3 decisions are searched by meaning')
    await peer.close()

    const asked = await cstp(
      ['query', question, '--url', server.url],
      bareEnv(dir, { CSTP_AGENT: 'ada', CSTP_TOKEN: token.slice(4) }),
    )
    expect(asked.out).toContain('Index incomplete: 0 of 3 decisions are searched by meaning.')
    expect(asked.out).not.toContain('No precedent')

    release.resolve()
    await until('the index is complete', async () => {
      const ready = (await (await fetch(`${server.url}/ready`)).json()) as { index: object }
      return Bun.deepEquals(ready.index, { complete: true, indexed: 3, total: 3 })
    })
    expect(await server.call('queryDecisions', { query: 'ledger in double entry' })).toMatchObject({
      decisions: [{ title: decisions[0] }, {}, {}],
      degraded: false,
      no_precedent: false,
    })
  } finally {
    release.resolve()
    await provider.stop()
  }
})

test('a start without its index serves, and knows how many decisions there are, before one of them is indexed again', async () => {
  const dir = await testDir()
  const env = { CSTP_AUTH_TOKENS: token }
  const before = await startServer({ dir, env })
  for (const decision of decisions)
    await before.call('recordDecision', { decision, confidence: 0.8, category: 'books' })
  await before.kill()
  const held = join(dir, 'held.ts')
  await writeFile(
    held,
    `import { openMemorySearch } from ${JSON.stringify(join(root, 'test/support/search.ts'))}
const inner = openMemorySearch()
const open = async (generation) => ({ ...(await inner.open(generation)), apply: () => new Promise(() => {}) })
export default { search: () => ({ ...inner, open }) }`,
  )
  const server = await startServer({ dir, env: { ...env, CSTP_DRIVERS: held } })
  try {
    expect(await (await fetch(`${server.url}/health`)).json()).toMatchObject({ status: 'ok' })
    const index = { complete: false, indexed: 0, total: 3 }
    await until('the state of the index', async () => {
      const ready = (await (await fetch(`${server.url}/ready`)).json()) as { index: object }
      return Bun.deepEquals(ready.index, index)
    })
    expect(await server.call('getStats', {})).toMatchObject({ total: 3 })
    expect(await server.call('queryDecisions', { query: question })).toMatchObject({ index, degraded: true })
  } finally {
    await server.kill('SIGKILL')
  }
})

test('an import ends once its decisions are searched by meaning', async () => {
  const dir = await testDir()
  const release = Promise.withResolvers<void>()
  const provider = serveOpenai(async (_, { texts }) => {
    if (texts.some((text) => text.includes('ledger'))) await release.promise
    return undefined
  })
  try {
    const env = { CSTP_EMBEDDER: 'openai', CSTP_EMBEDDING_URL: provider.url, CSTP_EMBEDDING_MODEL: 'test' }
    const server = await testServer({ dir, env: { ...env, CSTP_AUTH_TOKENS: token } })
    const lines = decisions.map((decision) => JSON.stringify({ decision, confidence: 0.8, category: 'books' }))
    const input = `${lines.join('\n')}\n`
    const known = bareEnv(dir, { CSTP_AGENT: 'ada', CSTP_TOKEN: token.slice(4) })
    const ended = cstp(['import', '-', '--json', '--url', server.url], known, input)
    // By then the records wait for their vectors no longer.
    await until('all are stored', async () => (await server.call('getStats', {})).total === 3)
    release.resolve()
    expect(JSON.parse((await ended).out)).toMatchObject({ imported: 3, unindexed: 0 })
    expect(await server.call('queryDecisions', { query: question })).toMatchObject({ index: { complete: true } })
  } finally {
    release.resolve()
    await provider.stop()
  }
})
