/** The doctor says when a store has outgrown a program without LanceDB. */
import { expect, test } from 'bun:test'
import { searchFindings } from '../../src/app/doctor/search.ts'

const absent = () => Promise.reject(new Error('no such module'))

test('a large store without LanceDB is warned of; a small one, or a program that has it, is not', async () => {
  const found = await Array.fromAsync(searchFindings(20_001, absent))
  expect(found).toMatchObject([{ severity: 'warning' }])
  expect(found[0]!.what).toContain('20001')
  let asked = 0
  const library = async () => asked++
  expect(await Array.fromAsync(searchFindings(20_000, library))).toEqual([])
  expect(asked).toBe(0)
  expect(await Array.fromAsync(searchFindings(20_001, library))).toEqual([])
  expect(asked).toBe(1)
})
