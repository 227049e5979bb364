/** The short form of `bun run eval --context`: the tasks whose stores are in the tree. */
import { expect, test } from 'bun:test'
import { openLocalEmbedder } from '../../src/drivers/embedder/local/driver.ts'
import { brokenBy, figuresOf, type Shown, showAll, type Task, tasks } from './context.ts'

test('a model is shown what solves its task, and little else', async () => {
  const { development, reported } = await tasks()
  const embedder = await openLocalEmbedder()
  const own = [...development, ...reported].filter(({ store }) => store === 'shop')
  const shown = await showAll(embedder, own)
  await embedder.close()
  expect(shown).toHaveLength(2 * 12)
  expect(brokenBy(shown)).toEqual([])
}, 300_000)

test('figures count lines, the first three of them, and what fits', () => {
  const task: Task = { store: 'shop', task: 'x', relevant: ['a', 'b'], solving: ['b'] }
  const shown: Shown[] = [
    { task, by: 'cstp', lines: [['a'], ['c', 'b']], short: [['a']] },
    { task, by: 'cstp', lines: [['c'], ['d'], ['e'], ['b']], short: [['b']] },
  ]
  expect(figuresOf(shown)).toEqual({ precision: 0.5, first: 0.5, short: 0.5 })
})
