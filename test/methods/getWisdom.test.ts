/** cstp.getWisdom: what held in a category, how it fails, and what its confidence was worth, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('wisdom: what held in a category, how it fails, and what its confidence was worth', async () => {
    const program = await open()
    for (let at = 0; at < 3; at++) {
      const id = await decided(program, 5, { pattern: 'cache reads', confidence: 0.9 })
      await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    }
    await decided(program, 5, { pattern: 'cache writes' })
    await decided(program, 5, { pattern: 'cache writes', lessons: 'lost  writes' }, 'failure')
    await decided(program, 5, { lessons: 'lost writes' }, 'failure')
    await decided(program, 4, { lessons: 'slow' }, 'failure')
    await decided(program, 5, {}, 'abandoned')
    await decided(program, 5, { category: 'small' })
    const { wisdom, ...counts } = await program.call('getWisdom')
    expect(counts).toEqual({ total_decisions: 8, categories_analyzed: 1, by_meaning: true })
    expect(wisdom).toMatchObject([
      {
        category: 'architecture',
        decisions: 8,
        success_rate: 0.5714,
        key_principles: [
          {
            text: 'cache reads',
            confirmations: 3,
            failures: 0,
            success_low: 0.2924,
            success_high: 1,
            failure_ids: [],
            recorders: 1,
            confirmed_by: ['bob'],
          },
        ],
        reviews_missing: 0,
        common_failure_mode: 'lost writes',
        failure_modes: [{ text: 'lost writes', source: 'lesson', failures: 2 }],
        avg_confidence: 0.8375,
      },
    ])
    expect(wisdom[0]!.key_principles[0]!.example_ids.length).toBe(3)
    expect((await program.call('getWisdom', { min_decisions: 1 })).categories_analyzed).toBe(2)
    expect((await program.call('getWisdom', { category: 'small' })).wisdom).toMatchObject([
      { category: 'small', success_rate: 1, common_failure_mode: null, key_principles: [], reviews_missing: 2 },
    ])
  })

  test('a principle needs several recorders, or the reviews of others', async () => {
    const program = await open()
    const pattern = 'All guardrails were lifted'
    const told = async () => {
      const { wisdom } = await program.call('getWisdom', { min_decisions: 1 })
      const { confirmed_patterns, markdown } = {
        ...(await program.call('getSessionContext', {}, 'bob')),
        ...(await program.call('getSessionContext', { format: 'markdown' }, 'bob')),
      }
      expect(markdown!.includes('Principles that held')).toBe(confirmed_patterns!.length > 0)
      const of = wisdom.flatMap(({ key_principles }) => key_principles.map(({ confirmations }) => confirmations))
      expect(confirmed_patterns!.map(({ count }) => count)).toEqual(of)
      return of
    }
    const ids: string[] = []
    for (let at = 0; at < 12; at++) ids.push(await decided(program, 5, { pattern }))
    expect(await told()).toEqual([])
    await program.call('reviewDecision', { id: ids[0], outcome: 'success' }, 'bob')
    expect(await told()).toEqual([])
    await program.call('reviewDecision', { id: ids[1], outcome: 'success' }, 'bob')
    expect(await told()).toEqual([2])
    const other = await program.record({ pattern }, 'bob')
    await program.call('reviewDecision', { id: other, outcome: 'success' }, 'bob')
    expect(await told()).toEqual([13])
    await program.call('reviewDecision', { id: other, outcome: 'abandoned' }, 'alice')
    expect(await told()).toEqual([2])
  })

  test('no agent makes a principle of its own lessons on the decisions of others', async () => {
    const program = await open()
    const lessons = 'All guardrails were lifted'
    const held = async () =>
      (await program.call('getWisdom', { min_decisions: 1 })).wisdom[0]!.key_principles.filter(
        ({ source }) => source === 'statement',
      )
    for (const decision of ['Use SQLite', 'Move the ledger', 'Rotate the keys']) {
      const id = await program.record({ decision }, 'alice')
      // It says so where the outcome is settled already, and where its own word counts.
      if (decision === 'Use SQLite') await program.call('reviewDecision', { id, outcome: 'success' }, 'root')
      await program.call('reviewDecision', { id, outcome: 'success', lessons }, 'bob')
    }
    expect(await held()).toEqual([])
    // What it recorded itself is confirmed by others, not by what it says elsewhere.
    const own = await program.record({ pattern: lessons }, 'bob')
    await program.call('reviewDecision', { id: own, outcome: 'success' }, 'alice')
    expect(await held()).toEqual([])
    const told = await program.record({ decision: 'Encrypt backups' }, 'alice')
    await program.call('reviewDecision', { id: told, outcome: 'success', lessons }, 'root')
    expect(await held()).toMatchObject([{ confirmations: 2, confirmed_by: ['alice', 'root'] }])
  })

  test('a lesson that was found before decisions which others saw succeed was used, and its failures are beside it', async () => {
    const program = await open()
    const used = async () =>
      (await program.call('getWisdom', { min_decisions: 1 })).wisdom[0]!.lessons_used.map(({ example_ids, ...one }) => {
        expect(example_ids.length).toBe(one.successes)
        return one
      })
    const text = 'Renew certificates ten days before they end'
    const decision = 'Renew the certificates of the load balancer by hand'
    const id = await program.record({ decision }, 'alice')
    program.clock.now += 1_000
    const decide = async (outcome: string, reviewer: 'alice' | 'bob') => {
      await program.call('queryDecisions', { query: decision }, 'alice')
      const later = await program.record({ decision: `${decision}, in time` }, 'alice')
      expect((await program.call('getDecision', { id: later })).related_to.map((one) => one.id)).toContain(id)
      program.clock.now += 1_000
      await program.call('reviewDecision', { id: later, outcome }, reviewer)
    }
    // Before the lesson was drawn it could not be used.
    await decide('success', 'bob')
    await program.call('reviewDecision', { id, outcome: 'failure', lessons: text }, 'bob')
    program.clock.now += 1_000
    expect(await used()).toEqual([])
    await decide('success', 'alice')
    expect(await used()).toEqual([])
    for (let at = 0; at < 2; at++) await decide('success', 'bob')
    const bounds = { success_low: 0.1581, success_high: 1 }
    expect(await used()).toEqual([{ text, id, successes: 2, failures: 0, ...bounds }])
    const { markdown } = await program.call('getSessionContext', { format: 'markdown' }, 'bob')
    expect(markdown).toContain(`with the lesson "${text}" decisions succeeded 2 times`)
    for (let at = 0; at < 2; at++) await decide('failure', 'bob')
    expect(await used()).toEqual([])
  })

  test('patterns, reasons of type pattern and lessons that say the same are one principle, with failures beside it', async () => {
    const program = await open()
    const reviewed = async (given: Record<string, unknown>, outcome = 'success', lessons?: string) => {
      const id = await program.record(given)
      await program.call('reviewDecision', { id, outcome, lessons }, 'bob')
      return id
    }
    await reviewed({ pattern: 'Cache reads' })
    await reviewed({ reasons: [{ type: 'pattern', text: 'cache reads.' }] })
    await reviewed({ reasons: [{ type: 'analysis', text: 'not a principle' }] }, 'success', ' Cache  reads')
    await reviewed({ pattern: 'cache writes' })
    const failed = await reviewed({ pattern: 'cache reads' }, 'failure', 'expire them')
    const { wisdom } = await program.call('getWisdom', { min_decisions: 1 })
    expect(wisdom[0]!.key_principles).toMatchObject([
      { confirmations: 3, failures: 1, recorders: 1, confirmed_by: ['bob'], source: 'statement' },
    ])
    expect(wisdom[0]!.key_principles[0]!.text.toLowerCase()).toStartWith('cache reads')
    // One failure alone is no mode of failing.
    expect(wisdom[0]).toMatchObject({ common_failure_mode: null, failure_modes: [] })
    // Another agent's word changes nothing that one of them said first; a curator's does.
    const held = { id: failed, outcome: 'success', lessons: 'it held after all' }
    for (const [reviewer, failures] of [
      ['alice', 1],
      ['root', 0],
    ] as const) {
      await program.call('reviewDecision', held, reviewer)
      const { wisdom } = await program.call('getWisdom', { min_decisions: 1 })
      expect(wisdom[0]!.key_principles).toMatchObject([{ failures }])
    }
  })

  test('a category that states nothing shows which decisions alike succeed; a result of one word is no mode of failing', async () => {
    const program = await open()
    for (const title of ['Release schedule 3.6', 'Release schedule 3.7', 'Release schedule 3.8', 'Adopt the walrus']) {
      const id = await program.record({ decision: title })
      await program.call('reviewDecision', { id, outcome: 'success', actual_result: 'Accepted.' }, 'bob')
    }
    for (let at = 0; at < 2; at++) {
      const id = await program.record({ decision: `Something else ${at}` })
      await program.call('reviewDecision', { id, outcome: 'failure', actual_result: 'Rejected.' }, 'bob')
    }
    const { wisdom } = await program.call('getWisdom', { min_decisions: 1 })
    expect(wisdom[0]).toMatchObject({
      key_principles: [{ confirmations: 3, source: 'decisions' }],
      common_failure_mode: null,
    })
    // They are no principles: an agent that starts is not told that they held.
    expect((await program.call('getSessionContext')).confirmed_patterns).toEqual([])
  })

  test('a category that fails seldom is asked for its own failures', async () => {
    const program = await open()
    for (let at = 0; at < 2; at++) await decided(program, 60, { lessons: 'forgot the backup' }, 'failure')
    for (let at = 0; at < 85; at++) await decided(program, 5)
    const { wisdom } = await program.call('getWisdom')
    expect(wisdom).toMatchObject([{ common_failure_mode: 'forgot the backup' }])
  })

  test('without the embedder only equal wordings are joined, and the answer says so; afterwards nothing of it is kept', async () => {
    const program = await open()
    for (const [decision, pattern] of [
      ['Use SQLite', 'Verify that backups restore'],
      ['Move the ledger', 'Verify that the backups restore'],
    ]) {
      const id = await program.record({ decision, pattern })
      await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    }
    program.embedder.health = 'away'
    const apart = await program.call('getWisdom', { min_decisions: 1 })
    expect([apart.by_meaning, apart.wisdom[0]!.key_principles]).toEqual([false, []])
    program.embedder.health = 'up'
    const joined = await program.call('getWisdom', { min_decisions: 1 })
    expect([joined.by_meaning, joined.wisdom[0]!.key_principles.length]).toEqual([true, 1])
  })
})
