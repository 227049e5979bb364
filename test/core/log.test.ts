/** The log: one line for each message, in order, at once where it matters, and nothing of a caller's that drives a terminal. */
import { describe, expect, test } from 'bun:test'
import { readFile, rename } from 'node:fs/promises'
import { causeOf, createLog, describeError, type Level, messageOf } from '../../src/core/log.ts'

function harness(level: Level = 'debug', pretty = false) {
  const written: string[] = []
  const log = createLog({
    level,
    pretty,
    write: (text) => written.push(text),
    now: () => Date.parse('2026-07-01T12:00:00Z'),
  })
  return { log, written, text: () => written.join('') }
}

test('lines are JSON with time, level and message', () => {
  const { log, text } = harness()
  log('info', 'call', { method: 'cstp.getStats', duration_ms: 1.5, nested: { a: [1] } })
  log('info', 'bare')
  log.flush()
  expect(
    text()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  ).toEqual([
    {
      at: '2026-07-01T12:00:00.000Z',
      level: 'info',
      message: 'call',
      method: 'cstp.getStats',
      duration_ms: 1.5,
      nested: { a: [1] },
    },
    { at: '2026-07-01T12:00:00.000Z', level: 'info', message: 'bare' },
  ])
})

test('what is less severe than the level is left out', () => {
  const { log, text } = harness('warn')
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log(level, level)
  log.flush()
  expect(text().match(/"level":"\w+"/g)).toEqual(['"level":"warn"', '"level":"error"'])
})

test('lines are gathered, and written within 50 ms; warnings at once, with what waited before them', async () => {
  const { log, written } = harness()
  log('info', 'first')
  expect(written).toEqual([])
  log('warn', 'second')
  expect(written).toHaveLength(1)
  expect(written[0]!.match(/first|second/g)).toEqual(['first', 'second'])
  log('info', 'third')
  await Bun.sleep(120)
  expect(written).toHaveLength(2)
  log.flush()
  expect(written).toHaveLength(2)
})

test('a flood is written without waiting', () => {
  const { log, written } = harness()
  for (let index = 0; index < 1_000; index++) log('info', 'x'.repeat(200))
  expect(written.length).toBeGreaterThan(2)
})

const hostile = 'a\nb\x1b[31m\r\u2028"\\\0'
describe('a text of a caller', () => {
  test('stays on its line', () => {
    const { log, text } = harness()
    log('info', 'call', { method: hostile })
    log.flush()
    expect(text().match(/\n/g)).toHaveLength(1)
    expect(JSON.parse(text())).toMatchObject({ method: hostile })
  })

  test('does not drive the terminal', () => {
    const { log, text } = harness('info', true)
    log('info', 'call', { method: hostile })
    log.flush()
    expect(text().match(/\n/g)).toHaveLength(1)
    expect(text()).not.toContain('\x1b[31m')
    expect(text()).not.toContain('\0')
  })

  test('nor from the message at the head of a stack', () => {
    const { log, text } = harness('info', true)
    log('error', 'failed', { stack: `Error: ${hostile}\n    at file.ts:1` })
    expect(Bun.stripANSI(text()).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(text()).not.toContain('b\x1b[31m')
    expect(text()).toContain('\n    at file.ts:1')
  })
})

test('readable lines hold level, message and values', () => {
  const { log, text } = harness('info', true)
  log('info', 'call', { method: 'cstp.getStats', code: 0 })
  log.flush()
  expect(Bun.stripANSI(text())).toBe('12:00:00.000 info  call  method=cstp.getStats code=0\n')
})

test('errors are described with cause and stack, whatever was thrown', () => {
  const described = describeError(new Error('outer', { cause: new Error('inner') }))
  expect(described).toMatchObject({ error: 'outer', cause: 'inner', stack: expect.stringContaining('log.test.ts') })
  expect(describeError(new Error('x', { cause: 'text' }))).toMatchObject({ error: 'x', cause: 'text' })
  expect([describeError('text'), describeError(undefined), describeError(null)]).toEqual([
    { error: 'text' },
    { error: 'undefined' },
    { error: 'null' },
  ])
})

test('what the file system refuses is named by path and cause, without its code', async () => {
  const failed = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    return [messageOf(error), causeOf(error)]
  }
  const gone = "/nowhere, really/it's, here"
  expect(await failed(readFile(gone))).toEqual([`${gone}: no such file or directory`, 'no such file or directory'])
  expect((await failed(rename(gone, '/nowhere/else')))[1]).toBe('no such file or directory')
  for (const error of [new Error('ENOENT: as somebody says'), new Error('E2: a, b'), 'text'])
    expect([messageOf(error), causeOf(error)]).toEqual(Array(2).fill(error instanceof Error ? error.message : error))
})
