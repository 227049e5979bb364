/** Checkpoints are sent to witnesses, which are real ones: what is kept, shown and put into receipts, and what happens without them. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Published, Publisher } from '../../src/domain/ledger/thread/receipts.ts'
import { serveWitness } from '../../src/transparency/open.ts'
import { publishWitnessed } from '../../src/transparency/publisher.ts'
import { readNote } from '../../src/verify/note.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { appendActs } from '../support/evidence/acts.ts'
import { temporaryDir } from '../support/process.ts'
import { memoryProgram, openMemoryProgram, type TestProgram } from '../support/program.ts'

type Serving = Awaited<ReturnType<typeof serveWitness>>

let dir = ''
let program: TestProgram
let witnesses: Serving[] = []
const publishers: Publisher[] = []
const failures: string[] = []
const statuses: number[] = []

const startWitness = (name: string, port = 0): Promise<Serving> =>
  serveWitness({
    ...{ host: '127.0.0.1', port, state_dir: join(dir, name), key_path: undefined, name: `witness.example/${name}` },
    logs: [program.services.thread.signer.verifier_key],
    handled: ({ status }) => void statuses.push(status),
  })

beforeEach(async () => {
  dir = await temporaryDir('cstp-publisher-')
  program = await openMemoryProgram()
  witnesses = [await startWitness('a'), await startWitness('b')]
})
afterEach(async () => {
  for (const one of publishers.splice(0)) await one.close()
  for (const one of witnesses.splice(0)) await one.stop()
  await program.close()
  await rm(dir, { recursive: true, force: true })
  failures.length = statuses.length = 0
})

/** @param needed of the two witnesses */
const policyText = (needed: string, at = witnesses): string =>
  `log ${program.services.thread.signer.verifier_key}
witness a ${at[0]!.verifier_key} ${at[0]!.url}
witness b ${at[1]!.verifier_key} ${at[1]!.url}/
group g ${needed} a b
quorum g
`

/** A publisher whose rounds run when a test asks for them. */
function publish(text: string, on = program): Publisher {
  const { thread, store } = on.services
  const publisher = publishWitnessed({
    ...{ thread, log: store.thread, policy: readPolicy(text), now: () => program.clock.now },
    after: () => () => {},
    failed: (error) => void failures.push((error as Error).message),
  })
  publishers.push(publisher)
  on.services.publisher = publisher
  return publisher
}
const cosigners = ({ note }: Published): string[] => readNote(note).signatures.map(({ name }) => name)

test('a receipt has the cosignatures of the quorum, and what is shown too', async () => {
  const text = policyText('all')
  const publisher = publish(text)
  for (const count of [1, 3, 300]) {
    await appendActs(program.store, count, count)
    const record_id = `act/${2 * count - 1}`
    const answer = await program.call('getReceipt', { record_id }, 'root')
    const report = verifyReceipts(JSON.stringify(answer), readPolicy(text))
    expect(report).toMatchObject({ verified: true, findings: [] })
    expect(report.receipts[0]!.cosigned_by.map(({ name }) => name)).toEqual(['a', 'b'])
    expect((await publisher.shown()).size).toBeGreaterThanOrEqual(answer.receipts[0]!.index + 1)
  }
  // What is covered already is not sent again.
  const sent = statuses.length
  await program.call('getReceipt', { record_id: 'act/1' }, 'root')
  expect(statuses.length).toBe(sent)
  expect(failures).toEqual([])
})

test('a new process continues from the size of the witness, and serves the stored checkpoint', async () => {
  const text = policyText('any')
  await appendActs(program.store, 0, 20)
  const first = await publish(text).covering(20)
  const second = publish(text)
  expect(await second.shown()).toEqual(first)
  await appendActs(program.store, 20, 20)
  statuses.length = 0
  expect((await second.covering(40)).size).toBe(40)
  expect(statuses.toSorted()).toEqual([200, 200, 409, 409])
})

test('concurrent readers at the start share one read of the stored checkpoint', async () => {
  await appendActs(program.store, 0, 5)
  const before = await publish(policyText('any')).covering(5)
  const { thread } = program.services.store
  let looks = 0
  const checkpoints: typeof thread.checkpoints = (latest) => {
    looks++
    return thread.checkpoints(latest)
  }
  const publisher = publish(policyText('any'), {
    ...program,
    services: { ...program.services, store: { ...program.services.store, thread: { ...thread, checkpoints } } },
  })
  const shown = await Promise.all(Array.from({ length: 20 }, () => publisher.shown()))
  expect(new Set(shown.map(({ note }) => note))).toEqual(new Set([before.note]))
  expect(looks).toBe(1)
})

test('without a quorum a receipt has what the log signed; nobody waits again, and what is shown stays', async () => {
  const text = policyText('all')
  const publisher = publish(text)
  await appendActs(program.store, 0, 5)
  const before = await publisher.covering(5)
  await witnesses.pop()!.stop()
  await appendActs(program.store, 5, 5)
  const alone = await publisher.covering(10)
  expect(cosigners(alone)).toEqual(['cstp.test/log/thread'])
  expect(failures.join()).toContain("the witness b can't be reached")
  expect(await publisher.shown()).toEqual(before)
  // For a minute no answer waits for them.
  failures.length = 0
  await appendActs(program.store, 10, 5)
  await publisher.covering(11)
  expect(failures).toEqual([])
  program.clock.now += 61_000
  await program.services.thread.sequence()
  await publisher.covering(15)
  expect(failures).toHaveLength(1)
})

test('a witness that is another one, and one that saw another history, cosign nothing', async () => {
  const stranger = await startWitness('stranger')
  try {
    const exchanged = [witnesses[0]!, { ...witnesses[1]!, url: stranger.url }]
    const publisher = publish(policyText('all', exchanged))
    await appendActs(program.store, 0, 5)
    expect(cosigners(await publisher.covering(5))).toHaveLength(1)
    expect(failures).toEqual(['the answer of the witness b has no valid cosignature of its key'])
  } finally {
    await stranger.stop()
  }
  // A log of the same key whose store was lost and grew again.
  const other = await memoryProgram()
  await appendActs(other.store, 100, 9)
  failures.length = 0
  const forked = publish(policyText('any'), other)
  expect(cosigners(await forked.covering(9))).not.toContain('witness.example/a')
  expect(failures.join()).toContain('the witness a refused with 422')
  await appendActs(program.store, 5, 20)
  expect(cosigners(await publish(policyText('any')).covering(25))).toContain('witness.example/a')
})
