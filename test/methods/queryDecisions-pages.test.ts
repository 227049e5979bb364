/** cstp.queryDecisions: pages, a second server, and questions that are only text, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

const modes = ['semantic', 'keyword', 'hybrid'] as const

forEachBackend((open) => {
  test.each(modes)('%s: what one server recorded, another finds at its next question', async (retrieval_mode) => {
    const one = await open()
    const two = await one.second()
    for (let index = 0; index < 5; index++) {
      const id = await one.record({ decision: `Number ${index} alpha` })
      const { decisions, total } = await two.call('queryDecisions', {
        query: `number ${index} alpha`,
        retrieval_mode,
        limit: 1,
      })
      expect([decisions[0]!.id, total]).toEqual([id, index + 1])
    }
  })

  test.each(modes)('%s: pages are parts of one order', async (retrieval_mode) => {
    const { call, record } = await open()
    // Many that are equal in every score: only the id tells them apart.
    for (let index = 0; index < 30; index++) await record({ decision: `Use Redis ${'more '.repeat(index % 3)}` })
    const ask = async (offset: number, limit: number) => {
      const { decisions, total } = await call('queryDecisions', {
        query: 'use redis more',
        retrieval_mode,
        offset,
        limit,
      })
      expect(total).toBe(30)
      return decisions.map(({ id }) => id)
    }
    const whole = await ask(0, 500)
    expect(new Set(whole).size).toBe(30)
    const pages = []
    for (let offset = 0; offset < 40; offset += 7) pages.push(...(await ask(offset, 7)))
    expect(pages).toEqual(whole)
    expect(await ask(0, 10)).toEqual(whole.slice(0, 10))
    expect(await ask(29, 1)).toEqual(whole.slice(29))
    expect(await ask(30, 10)).toEqual([])
  })

  test.each(modes)('%s: a page far down is as full as the first', async (retrieval_mode) => {
    const { call, record } = await open()
    await Promise.all(Array.from({ length: 130 }, (_, index) => record({ decision: `Use Redis for case ${index}` })))
    const { decisions, total } = await call('queryDecisions', {
      query: 'use redis',
      retrieval_mode,
      offset: 115,
      limit: 10,
    })
    expect([decisions.length, total]).toEqual([10, 130])
  })
})
