/** Each delivery of GitHub once and whole: two processes that get the same ones, and one that is killed again and again. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { canonical } from '../../src/core/canonical.ts'
import { recordHash } from '../../src/domain/ledger/evidence/hash.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import * as gh from '../support/github.ts'
import { testDir } from '../support/process.ts'

const count = 60
/** Merges that each take two others back: three events in a batch. */
const deliveries = Array.from({ length: count }, (_, n) => {
  const number = 1_000 + n
  const body = `Reverts acme/app#${2 * n + 1}\nReverts acme/app#${2 * n + 2}`
  return gh.deliveryOf(gh.merged({ number, title: 'Revert two', body, at: n }), `d${n}`)
})

/** Numbers of each delivery's records, from a chain that was checked link by link. */
async function recorded(path: string): Promise<Map<string, number[]>> {
  const log = await openSqliteEvidence(path)
  const found = new Map<string, number[]>()
  try {
    let last = '0'.repeat(64)
    for (const { hash, ...record } of await log.read(1, 10_000)) {
      expect(record.prev_hash).toBe(last)
      expect(recordHash(record)).toBe(hash)
      last = hash
      const { delivery_id } = JSON.parse(record.payload)
      found.set(delivery_id, [...(found.get(delivery_id) ?? []), record.seq])
    }
  } finally {
    await log.close()
  }
  return found
}

const batchesOf = (found: Map<string, number[]>) =>
  [...found.values()].map(([first, ...rest]) => rest.map((seq) => seq - first!))
const whole = (of: number) => Array.from({ length: of }, () => [1, 2])

const taker = (path: string, given: string) =>
  Bun.spawn([process.execPath, join(import.meta.dir, 'taker.ts'), path, given], { stdout: 'pipe', stderr: 'inherit' })

test('two processes at once, one of them in another order and under other ids', async () => {
  const dir = await testDir()
  const path = join(dir, 'provenance.db')
  const [one, two] = [join(dir, 'one.json'), join(dir, 'two.json')]
  await Bun.write(one, canonical(deliveries))
  await Bun.write(two, canonical(deliveries.map((delivery) => ({ ...delivery, id: `other-${delivery.id}` })).reverse()))
  const children = [taker(path, one), taker(path, two), taker(path, one)]
  const told = await Promise.all(children.map(({ stdout }) => new Response(stdout).text()))
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0])
  const outcomes = told.join('').trim().split('\n')
  expect(outcomes.filter((outcome) => outcome === 'ingested').length).toBe(count)
  expect(outcomes.filter((outcome) => outcome === 'repeated').length).toBe(2 * count)
  expect(batchesOf(await recorded(path))).toEqual(whole(count))
})

test('killed again and again, with everything delivered again each time', async () => {
  const dir = await testDir()
  const path = join(dir, 'provenance.db')
  const given = join(dir, 'deliveries.json')
  await Bun.write(given, canonical(deliveries))
  let told = 0
  for (let round = 0; round < 8; round++) {
    const child = taker(path, given)
    const reader = child.stdout.getReader()
    let seen = ''
    // Each round gets a little further than the one before it.
    while (seen.split('\n').length <= told + 5) {
      const { done, value } = await reader.read()
      if (done) break
      seen += new TextDecoder().decode(value)
    }
    child.kill('SIGKILL')
    await child.exited
    told = Math.max(told, seen.split('\n').length - 1)
    const found = await recorded(path)
    expect(batchesOf(found)).toEqual(whole(found.size))
    // Every acknowledged event is there.
    expect(found.size).toBeGreaterThanOrEqual(told)
  }
  expect(await taker(path, given).exited).toBe(0)
  const found = await recorded(path)
  expect([...found.keys()]).toEqual(deliveries.map(({ id }) => id))
  expect(batchesOf(found)).toEqual(whole(count))
})
