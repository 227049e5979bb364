/** cstp.reindex: new vectors beside the served ones, on every store. */

import { describe, expect, test } from 'bun:test'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const found = async ({ call }: TestProgram, query = 'redis') =>
  (await call('queryDecisions', { query })).decisions.length

async function fill({ record }: TestProgram, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index++) ids.push(await record({ decision: `Use Redis for case ${index}` }))
  return ids
}

forEachBackend((open) => {
  test('gives vectors to what had none, and the outbox has nothing left to do for it', async () => {
    const program = await open()
    program.embedder.health = 'away'
    await fill(program, 3)
    program.embedder.health = 'up'
    expect(await found(program)).toBe(0)
    await program.call('reindex', {}, 'root')
    expect(await found(program)).toBe(3)
    await program.services.outbox.drain()
    expect(await found(program)).toBe(3)
  })

  test('serves the old vectors meanwhile, and what is recorded meanwhile is found before and after', async () => {
    const program = await open()
    await fill(program, 70)
    const { embedder } = program.services
    const seen: number[] = []
    let recorded: Promise<string> | null = null
    const inner = embedder.embed
    let calls = 0
    embedder.embed = async (texts, kind, signal) => {
      if (kind === 'document' && ++calls === 40) {
        seen.push(await found(program))
        recorded = program.record({ decision: 'Meanwhile' })
        await recorded
        seen.push((await program.call('queryDecisions', { query: 'meanwhile', limit: 100 })).decisions.length)
      }
      return inner(texts, kind, signal)
    }
    const result = await program.call('reindex', {}, 'root')
    embedder.embed = inner
    expect(result).toMatchObject({ success: true, errors: 0 })
    expect(seen).toEqual([10, 71])
    expect((await program.call('queryDecisions', { query: 'meanwhile', limit: 100 })).decisions).toHaveLength(71)
    expect(await countDecisions(program.store.decisions, { indexed: true })).toBe(71)
  })

  test('what is updated meanwhile keeps the vectors of its new text', async () => {
    const program = await open()
    const [first, ...rest] = await fill(program, 6)
    const { embedder } = program.services
    const { embed } = embedder
    embedder.embed = async (...given) => {
      embedder.embed = embed
      // This one's vectors are being made of the old text; they must not be kept.
      await program.call('updateDecision', { id: first, updates: { decision: 'Paint the shed' } })
      return embed(...given)
    }
    await program.call('reindex', {}, 'root')
    await program.services.outbox.drain()
    const { decisions } = await program.call('queryDecisions', { query: 'Paint the shed' })
    expect(decisions[0]).toMatchObject({ id: first, distance: 0 })
    expect(decisions).toHaveLength(1 + rest.length)
  })

  test('after a change of the embedder brings semantic search back', async () => {
    const program = await open()
    await fill(program, 3)
    program.embedder.id = 'other/1'
    expect((await program.refused('queryDecisions', { query: 'redis' })).code).toBe(-32003)
    expect(await program.call('reindex', {}, 'root')).toMatchObject({ success: true, decisions_indexed: 3 })
    expect(await found(program)).toBe(3)
    expect((await program.store.feed.head()).active).toMatchObject({ embedder: 'other/1' })
  })

  test('without the embedder fails, and what was served is served on', async () => {
    const program = await open()
    await fill(program, 20)
    program.embedder.health = 'away'
    const error = await program.refused('reindex', {}, 'root')
    expect(error).toMatchObject({ code: -32010, data: { kind: 'unavailable' } })
    program.embedder.health = 'up'
    expect((await program.call('queryDecisions', { query: 'redis', limit: 50 })).decisions).toHaveLength(20)
    expect(await program.call('reindex', {}, 'root')).toMatchObject({ success: true, decisions_indexed: 20 })
  })

  test('a second server searches the new vectors at its next question', async () => {
    const one = await open()
    await fill(one, 3)
    const two = await one.second()
    expect(await found(two)).toBe(3)
    await one.call('reindex', {}, 'root')
    await one.record({ decision: 'Use Redis again' })
    expect(await found(two)).toBe(4)
  })

  describe('of one folder', () => {
    test('works in place, on the decisions of the folder', async () => {
      const program = await open()
      program.embedder.health = 'away'
      await program.record({ decision: 'Old', created_at: '2025-03-01' }, 'root')
      await program.record({ decision: 'Older', created_at: '2025-02-01' }, 'root')
      await program.record({ decision: 'New' })
      program.embedder.health = 'up'
      for (const folder of ['decisions/2025/03', 'decisions/2025', '', 'decisions/20']) program.folders.add(folder)
      const of = (decisions_path: string) => program.call('reindex', { decisions_path }, 'root')
      expect(await of('decisions/2025/03')).toMatchObject({ success: true, decisions_indexed: 1 })
      expect(await countDecisions(program.store.decisions, { indexed: true })).toBe(1)
      expect(await of('decisions/2025')).toMatchObject({ decisions_indexed: 2 })
      expect(await of('decisions/20')).toMatchObject({ decisions_indexed: 0 })
      expect(await countDecisions(program.store.decisions, { indexed: true })).toBe(2)
    })

    test('that does not exist, or lies elsewhere, is refused', async () => {
      const program = await open()
      for (const decisions_path of ['nowhere', '/etc', '', ' ', 5, null, 'x'.repeat(4_097)])
        expect(await program.refused('reindex', { decisions_path }, 'root')).toMatchObject({
          error: 'invalid_params',
          data: { issues: [{ path: 'decisions_path' }] },
        })
    })
  })
})
