/** A witness that logs send their checkpoints to: every answer of the protocol, what it keeps, and that it never goes back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openLatest } from '../../src/transparency/latest.ts'
import { serveWitness } from '../../src/transparency/open.ts'
import type { Handled } from '../../src/transparency/serve.ts'
import { readKey, readNote, signedBy } from '../../src/verify/note.ts'
import { naiveTree, recordHashes } from '../support/evidence/naive-tree.ts'
import { logSigner } from '../support/evidence/note-signers.ts'
import { bareEnv, cstp, spawn, temporaryDir } from '../support/process.ts'
import * as fc from '../support/property.ts'

let dir = ''
let serving: Awaited<ReturnType<typeof serveWitness>>
const handled: Handled[] = []
const tree = naiveTree(recordHashes(300))
const forged = naiveTree([...recordHashes(20), ...recordHashes(300, 'forged').slice(20)])
/** A log of its own for each test, all of which the witness knows. */
const logs = Array.from({ length: 12 }, (_, at) => logSigner(`log.example/${at}`, `log ${at}`))
const base64 = (hash: string): string => Buffer.from(hash, 'hex').toString('base64')

const open = () =>
  serveWitness({
    ...{ host: '127.0.0.1', port: 0, state_dir: dir, key_path: undefined, name: 'witness.example/1' },
    logs: logs.map(({ verifier_key }) => verifier_key),
    handled: (what) => void handled.push(what),
  })
beforeAll(async () => {
  dir = await temporaryDir('cstp-witness-serve-')
  serving = await open()
})
afterAll(async () => {
  await serving.stop()
  await rm(dir, { recursive: true, force: true })
})

interface Sent {
  old?: number
  size: number
  proof?: string[]
  note?: string
  of?: typeof tree
}
const bodyOf = (log: (typeof logs)[number], { old = 0, size, of = tree, proof, note }: Sent): string =>
  `old ${old}\n${(proof ?? of.consistency(old, size)).map((hash) => `${base64(hash)}\n`).join('')}\n${note ?? log.note(size, of.root(size))}`
const post = (body: string) => fetch(`${serving.url}/add-checkpoint`, { method: 'POST', body })
const add = async (log: (typeof logs)[number], sent: Sent) => {
  const response = await post(bodyOf(log, sent))
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

test('cosigns an extension of its last checkpoint, and shows monitors the latest', async () => {
  const log = logs[0]!
  const key = readKey(serving.verifier_key)
  const digest = createHash('sha256').update('log.example/0').digest('hex')
  const shown = () => fetch(`${serving.url}/${digest}/checkpoint`)
  expect((await shown()).status).toBe(404)
  for (const [old, size] of [
    [0, 0],
    [0, 7],
    [7, 7],
    [7, 8],
    [8, 256],
    [256, 300],
  ] as const) {
    const note = log.note(size, tree.root(size))
    const { status, text } = await add(log, { old, size })
    expect([size, status]).toEqual([size, 200])
    const signed = signedBy(readNote(note + text), key)
    expect(typeof signed === 'object' && Math.abs(signed.at! - Date.now() / 1_000) < 600).toBe(true)
    expect(await (await shown()).text()).toBe(note + text)
  }
  expect(handled.at(-1)).toEqual({ status: 200, origin: 'log.example/0', size: 300, message: 'cosigned' })
})

test('a size that is not the latest one is answered with it, by which the log goes on', async () => {
  const log = logs[1]!
  expect(await add(log, { old: 5, size: 9 })).toEqual({ status: 409, type: 'text/x.tlog.size', text: '0\n' })
  expect((await add(log, { size: 9 })).status).toBe(200)
  expect(await add(log, { size: 12 })).toEqual({ status: 409, type: 'text/x.tlog.size', text: '9\n' })
  // An older state of the log: no way back.
  expect((await add(log, { old: 5, size: 8 })).text).toBe('9\n')
  expect((await add(log, { old: 9, size: 12 })).status).toBe(200)
})

describe('what is refused', () => {
  test('a log that is not known, and keys that are not those of the log', async () => {
    expect((await add(logSigner('log.example/unknown'), { size: 3 })).status).toBe(404)
    expect((await add(logSigner('log.example/2', 'stranger'), { size: 3 })).status).toBe(403)
    const other = logs[3]!.note(3, tree.root(3))
    const wrong = logs[2]!.note(3, tree.root(4)).split('\n\n')[1]!
    const body = `${other.split('\n\n')[0]!.replace('log.example/3', 'log.example/2')}\n\n${wrong}`
    expect((await add(logs[2]!, { size: 3, note: body })).status).toBe(403)
  })

  test('a fork, a proof that does not hold, and one that must be empty', async () => {
    const log = logs[4]!
    expect((await add(log, { size: 30 })).status).toBe(200)
    expect((await add(log, { old: 30, size: 40, of: forged })).status).toBe(422)
    const same = await add(log, { old: 30, size: 30, of: forged })
    expect([same.status, same.text]).toEqual([409, expect.stringContaining('another root')])
    expect((await add(log, { old: 30, size: 40, proof: [] })).status).toBe(422)
    expect((await add(log, { old: 30, size: 40, proof: tree.consistency(29, 40) })).status).toBe(422)
    expect((await add(log, { old: 30, size: 30, proof: ['a'.repeat(64)] })).status).toBe(422)
    expect((await add(logs[5]!, { size: 30, proof: ['a'.repeat(64)] })).status).toBe(422)
    expect((await add(logs[5]!, { size: 0, note: logs[5]!.note(0, 'a'.repeat(64)) })).status).toBe(422)
    expect(handled.at(-1)).toMatchObject({ status: 422, origin: 'log.example/5' })
    expect((await add(log, { old: 30, size: 40 })).status).toBe(200)
  })

  test('what is malformed', async () => {
    const note = logs[6]!.note(3, tree.root(3))
    expect((await add(logs[6]!, { old: 4, size: 3, proof: [] })).status).toBe(400)
    for (const body of [
      '',
      'old 0',
      `old 00\n\n${note}`,
      `old -1\n\n${note}`,
      `old 0x1\n\n${note}`,
      `size 0\n\n${note}`,
      `old 0\nnonsense\n\n${note}`,
      `old 0\n${'AAAA\n'}\n${note}`,
      `old 0\n${`${base64('a'.repeat(64))}\n`.repeat(64)}\n${note}`,
      `old 0\n\n${note.slice(0, -10)}`,
      'old 0\n\nno note',
    ])
      expect([body.slice(0, 12), (await post(body)).status]).toEqual([body.slice(0, 12), 400])
    expect((await fetch(`${serving.url}/add-checkpoint`)).status).toBe(405)
    expect((await fetch(`${serving.url}/${'0'.repeat(64)}/checkpoint`)).status).toBe(404)
    expect((await fetch(`${serving.url}/`)).status).toBe(404)
    expect((await post('x'.repeat(300_000))).status).toBe(413)
    // What is no host is for nobody's parser.
    const { port } = new URL(serving.url)
    const lines = ['POST /add-checkpoint HTTP/1.1', 'host: $(id)%s', 'content-length: 0', 'connection: close', '', '']
    const answer = Promise.withResolvers<string>()
    await Bun.connect({
      ...{ hostname: '127.0.0.1', port: Number(port) },
      socket: {
        open: (socket) => void socket.write(lines.join('\r\n')),
        data: (_, bytes) => answer.resolve(bytes.toString()),
      },
    })
    expect(await answer.promise).toStartWith('HTTP/1.1 400')
  })
})

test('concurrent requests are serialized, and the state never goes back', async () => {
  const log = logs[7]!
  expect((await add(log, { size: 10 })).status).toBe(200)
  const sizes = [20, 15, 18, 11, 20, 12]
  const answers = await Promise.all(sizes.map((size) => add(log, { old: 10, size })))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
  const accepted = sizes[answers.findIndex(({ status }) => status === 200)]
  expect(new Set(answers.filter(({ status }) => status === 409).map(({ text }) => text))).toEqual(
    new Set([`${accepted}\n`]),
  )
})

test('cosigned checkpoints are known after a restart, and to a second process on the same folder', async () => {
  const log = logs[8]!
  expect((await add(log, { size: 10 })).status).toBe(200)
  const second = await openLatest(dir)
  expect(second.get('log.example/8')).toMatchObject({ size: 10, root_hash: tree.root(10) })
  const stale = second.get('log.example/8')!
  await serving.stop()
  serving = await open()
  expect(await add(log, { size: 9 })).toMatchObject({ status: 409, text: '10\n' })
  expect((await add(log, { old: 10, size: 12 })).status).toBe(200)
  // Another process that still has the state of before.
  expect(second.step('log.example/8', stale, { size: 11, root_hash: 'b'.repeat(64), note: '' })).toBe(false)
  expect(second.step('log.example/8', null, { size: 11, root_hash: 'b'.repeat(64), note: '' })).toBe(false)
  const now = second.get('log.example/8')!
  expect(now.size).toBe(12)
  expect(second.step('log.example/8', now, { ...now, size: 11 })).toBe(false)
  second.close()
  expect((await stat(join(dir, 'witness.pem'))).mode & 0o777).toBe(0o600)
})

test('only extensions of the log are cosigned', async () => {
  const log = logs[9]!
  let cosigned = 0
  /** Up to 20 both histories are one. */
  let branch: boolean | null = null
  await fc.assert(
    fc.asyncProperty(
      fc.record({ old: fc.nat(40), size: fc.nat(40), isForged: fc.boolean() }),
      async ({ old, size, isForged }) => {
        const of = isForged ? forged : tree
        const { status, text } = await add(log, { old, size, of, proof: old < size ? of.consistency(old, size) : [] })
        const isRight = branch === null || branch === isForged
        if (old > size) expect(status).toBe(400)
        else if (old !== cosigned) expect([status, text]).toEqual([409, `${cosigned}\n`])
        else if (isRight) expect(status).toBe(200)
        // Another root of the size that was cosigned is a conflict; another history is no extension.
        else expect(status).toBe(old === size ? 409 : 422)
        if (status !== 200) return
        cosigned = size
        if (size > 20) branch = isForged
      },
    ),
    { numRuns: 150, examples: [[{ old: 0, size: 37, isForged: false }], [{ old: 37, size: 37, isForged: true }]] },
  )
})

test('the command serves, reports what it did, and refuses to start without logs', async () => {
  const policy = join(dir, 'logs.txt')
  await Bun.write(policy, `log ${logs[10]!.verifier_key}\nquorum none\n`)
  const env = bareEnv(dir)
  const state = join(dir, 'own')
  const child = spawn(
    ['witness', 'serve', '--logs', policy, '--listen', '127.0.0.1:0', '--state', state, '--json'],
    env,
  )
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  const { url, verifier_key } = JSON.parse(new TextDecoder().decode(value))
  const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: bodyOf(logs[10]!, { size: 4 }) })
  const note = readNote(logs[10]!.note(4, tree.root(4)) + (await response.text()))
  expect(signedBy(note, readKey(verifier_key))).toMatchObject({ at: expect.any(Number) })
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(await new Response(child.stderr).text()).toContain('"message":"cosigned"')
  for (const [args, message] of [
    [[], '--logs is missing'],
    [['--logs', join(dir, 'nothing.txt')], 'is not a file with a policy'],
    [['--logs', policy, '--listen', 'here'], '--listen needs host:port'],
  ] as const) {
    const { status, err } = await cstp(['witness', 'serve', ...args], env)
    expect([status, err]).toEqual([2, expect.stringContaining(message)])
  }
})
