/** Bodies in flight: what is shared by whom, and that every byte is given back. */
import { describe, expect, test } from 'bun:test'
import { createBodies, type Sender } from '../../../src/surfaces/http/limits.ts'

const kib = 1_024
const agent = (name: string) => (): Sender => ({ name, known: true })
const address = (name: string) => (): Sender => ({ name, known: false })

/** A body of so many bytes that never ends, and its request. */
function unfinished(bytes: number, length?: number): Request {
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(bytes)) })
  const headers = new Headers(length === undefined ? [] : [['content-length', String(length)]])
  return new Request('http://x', { method: 'POST', body, headers })
}
const finished = (bytes: number): Request => new Request('http://x', { method: 'POST', body: new Uint8Array(bytes) })
const statusOf = (read: Uint8Array | Response) => (read instanceof Response ? read.status : 200)
/** Lets a body that began to be read take its first bytes. */
const settle = () => Bun.sleep(5)

describe('of 1 MiB in all', () => {
  const open = () => createBodies(1_024 * kib)

  test('those without credentials have a quarter together, and leave the rest to agents', async () => {
    const bodies = open()
    void bodies.read(unfinished(200 * kib), 900 * kib, address('a'))
    await settle()
    const refused = await bodies.read(finished(100 * kib), 900 * kib, address('b'))
    expect(statusOf(refused)).toBe(503)
    expect((refused as Response).headers.get('retry-after')).toBe('1')
    expect((refused as Response).headers.get('connection')).toBe('close')
    expect(statusOf(await bodies.read(finished(50 * kib), 900 * kib, address('c')))).toBe(200)
    expect(statusOf(await bodies.read(finished(500 * kib), 900 * kib, agent('alice')))).toBe(200)
  })

  test('an agent has half of them, another the other half, and nobody more than all', async () => {
    const bodies = open()
    void bodies.read(unfinished(500 * kib), 900 * kib, agent('alice'))
    await settle()
    expect(statusOf(await bodies.read(finished(100 * kib), 900 * kib, agent('alice')))).toBe(503)
    const second = finished(500 * kib)
    expect(statusOf(await bodies.read(second, 900 * kib, agent('bob')))).toBe(200)
    expect(statusOf(await bodies.read(finished(100 * kib), 900 * kib, agent('carol')))).toBe(503)
    bodies.release(second)
    expect(statusOf(await bodies.read(finished(100 * kib), 900 * kib, agent('carol')))).toBe(200)
  })

  test('a body that is alone is read, however large; what is answered is given back', async () => {
    const bodies = open()
    for (let round = 0; round < 3; round++) {
      const request = finished(2_000 * kib)
      expect(statusOf(await bodies.read(request, 4_000 * kib, address('a')))).toBe(200)
      bodies.release(request)
    }
  })

  test('a length that is only announced takes nothing', async () => {
    const bodies = open()
    for (let at = 0; at < 50; at++) void bodies.read(unfinished(1, 800 * kib), 900 * kib, address(`a${at}`))
    await settle()
    expect(statusOf(await bodies.read(finished(200 * kib), 900 * kib, address('b')))).toBe(200)
  })

  test('the limit of the body itself is 413, announced or found out', async () => {
    const bodies = open()
    expect(statusOf(await bodies.read(unfinished(1, 901 * kib), 900 * kib, agent('alice')))).toBe(413)
    expect(statusOf(await bodies.read(finished(901 * kib), 900 * kib, agent('alice')))).toBe(413)
    expect(statusOf(await bodies.read(finished(900 * kib), 900 * kib, agent('alice')))).toBe(200)
  })
})
