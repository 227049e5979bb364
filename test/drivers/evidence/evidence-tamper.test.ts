/** Whatever somebody does to the database past the program shows, at the record where it was done. */
import type { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CstpError } from '../../../sdk/errors.ts'
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import { startWalkers } from '../../../src/app/walkers.ts'
import { grow } from '../../../src/domain/ledger/engine/tree.ts'
import { appendEvents, type Chain, follow, openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { preimage, recordHash } from '../../../src/domain/ledger/evidence/hash.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'
import { chainOf, eventOf, eventsFrom, freshPath, intruder, logOf } from './evidence-tools.ts'

const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const

interface Tampered {
  evidence: Evidence
  db: Database
}

/** Runs `work`, and takes back all that it changed. */
async function undone({ db }: Tampered, work: () => Promise<void>): Promise<void> {
  for (const table of ['events', 'nodes', 'head', 'checkpoints'])
    db.run(`create temp table kept_${table} as select * from ${table}`)
  try {
    await work()
  } finally {
    for (const table of ['events', 'nodes', 'head', 'checkpoints']) {
      db.run(`delete from ${table}`)
      db.run(`insert into ${table} select * from kept_${table}`)
      db.run(`drop table kept_${table}`)
    }
  }
}

/** What a verification finds. */
const found = async (log: Evidence | Chain, expected: string | null = null) => {
  const chain = 'verify' in log ? log : chainOf(log)
  const { intact, broken_at_seq, reason } = await chain.verify(expected)
  return { intact, broken_at_seq, told: reason !== null }
}
const brokenAt = (seq: number | null) => ({ intact: false, broken_at_seq: seq, told: true })
const intact = { intact: true, broken_at_seq: null, told: false }

/** Opens a log of so many records for the tests of a block. */
function withLog(count: number): Tampered {
  const held = {} as Tampered
  beforeAll(async () => {
    const path = freshPath()
    held.evidence = await logOf(count, path)
    held.db = intruder(path)
  })
  afterAll(async () => {
    held.db.close()
    await held.evidence.close()
  })
  return held
}

describe('a small log', () => {
  const held = withLog(5)

  test('every byte of every column', async () => {
    for (const seq of [1, 3, 5]) {
      for (const column of columns) {
        const { bytes } = held.db
          .query<{ bytes: Uint8Array }, [number]>(`select cast(${column} as blob) as bytes from events where seq = ?`)
          .get(seq)!
        for (let at = 0; at < bytes.length; at++) {
          const changed = Uint8Array.from(bytes)
          changed[at]! ^= 1 << Math.floor(Math.random() * 8)
          held.db.run(`update events set ${column} = cast(? as text) where seq = ?`, [changed, seq])
          expect([column, at, await found(held.evidence)]).toEqual([column, at, brokenAt(seq)])
        }
        held.db.run(`update events set ${column} = cast(? as text) where seq = ?`, [bytes, seq])
      }
    }
    expect(await found(held.evidence)).toEqual(intact)
  })

  test('the same bytes as another type', async () => {
    for (const column of columns)
      await undone(held, async () => {
        held.db.run(`update events set ${column} = cast(${column} as blob) where seq = 2`)
        expect(await found(held.evidence)).toEqual(brokenAt(2))
      })
  })

  test('bytes that print as the text that was there', async () => {
    const path = freshPath()
    const evidence = await logOf(0, path)
    await appendEvents(evidence, [eventOf(1, { ts: '1,2', source: '1,2', event_type: '1,2' })])
    const db = intruder(path)
    for (const column of ['ts', 'source', 'event_type']) {
      db.run(`update events set ${column} = X'0102'`)
      expect([column, await found(evidence)]).toEqual([column, brokenAt(1)])
      db.run(`update events set ${column} = '1,2'`)
      expect(await found(evidence)).toEqual(intact)
    }
    db.close()
    await evidence.close()
  })

  test('bytes that are no UTF-8 do not pass for the character that stands for them', async () => {
    const path = freshPath()
    const evidence = await logOf(1, path)
    await appendEvents(evidence, [eventOf(2, { payload: '{"x":"\ufffd"}' }), eventOf(3)])
    expect(await found(evidence)).toEqual(intact)
    const db = intruder(path)
    db.run(`update events set payload = cast(X'7b2278223a22ff227d' as text) where seq = 2`)
    expect(await found(evidence)).toEqual(brokenAt(2))
    await expect(evidence.read(1, 10)).rejects.toThrow('record 2 is not UTF-8 text')
    db.close()
    await evidence.close()
  })

  test('text moved from one column to the next', async () => {
    // What is hashed would be the same, were the columns not escaped.
    await undone(held, async () => {
      held.db.run(
        `update events set evidence_class = 'observed","payload":{"payload":{"n":3', payload = substr(payload, 18) where seq = 3`,
      )
      expect(await found(held.evidence)).toEqual(brokenAt(3))
    })
  })

  test('text moved between columns whose bytes in a row stay the same', async () => {
    const path = freshPath()
    const evidence = await logOf(1, path)
    const prev = (await evidence.head()).hash
    const end = `"prev_hash":"${prev}","seq":2,"source":"`
    await appendEvents(evidence, [
      eventOf(2, { payload: `{"a":"b","evidence_class":"observed","payload":{"n":1},${end}s","ts":"t"}` }),
    ])
    expect(await found(evidence)).toEqual(intact)
    const db = intruder(path)
    const moved = [
      { event_type: `pr_opened","evidence_class":"observed","payload":{"a":"b`, payload: `{"n":1},${end}s","ts":"t"}` },
      {
        payload: '{"a":"b","evidence_class":"observed","payload":{"n":1}',
        source: 's',
        ts: `t"},${end}github","ts":"2026-07-01T10:00:00+02:00`,
      },
      {
        payload: '{"a":"b","evidence_class":"observed","payload":{"n":1}',
        source: `s","ts":"t"},${end}github`,
      },
    ]
    for (const columns of moved) {
      db.run('create temp table kept as select * from events')
      for (const [name, value] of Object.entries(columns))
        db.run(`update events set ${name} = ? where seq = 2`, [value])
      expect([columns, await found(evidence)]).toEqual([columns, brokenAt(2)])
      db.run('delete from events')
      db.run('insert into events select * from kept')
      db.run('drop table kept')
    }
    expect(await found(evidence)).toEqual(intact)
    db.close()
    await evidence.close()
  })

  /** A log that somebody wrote by hand, whose hashes, tree and head agree. */
  async function forgedLog(records: readonly EvidenceRecord[]): Promise<Tampered> {
    const path = freshPath()
    const evidence = await logOf(0, path)
    const db = intruder(path)
    const insert = db.prepare('insert into events values (?, ?, ?, ?, ?, cast(? as text), ?, ?)')
    for (const record of records) insert.run(record.seq, ...columns.map((name) => record[name]))
    insert.finalize()
    const hashes = records.map(({ hash }) => hash)
    const { frontier } = grow([], 0, hashes)
    db.run('update head set seq = ?, hash = ?, frontier = ?', [hashes.length, hashes.at(-1)!, JSON.stringify(frontier)])
    return { evidence, db }
  }

  test('numbers that begin at 0, with hashes of their own', async () => {
    const from = (seq: number) => follow({ seq, hash: noHash, frontier: [] }, eventsFrom(1, 5)).records
    for (const [first, expected] of [
      [0, intact],
      [-1, brokenAt(0)],
    ] as const) {
      const { evidence, db } = await forgedLog(from(first))
      expect(await found(evidence)).toEqual(expected)
      db.close()
      await evidence.close()
    }
  })

  test('bytes that are no UTF-8, with a hash of their own', async () => {
    const [record] = follow({ seq: 0, hash: noHash, frontier: [] }, [eventOf(1, { payload: '{"x":"?"}' })]).records
    const invalid = (text: string) => Buffer.from(text).map((byte) => (byte === 0x3f ? 0xff : byte))
    const hash = Bun.SHA256.hash(invalid(preimage(record!)), 'hex')
    const payload = invalid(record!.payload) as unknown as string
    const { evidence, db } = await forgedLog([{ ...record!, payload, hash }])
    expect(await found(evidence)).toEqual(brokenAt(1))
    db.close()
    await evidence.close()
  })

  test('the class, with a recomputed hash', async () => {
    await undone(held, async () => {
      const [record] = await held.evidence.read(3, 1)
      const forged = { ...record!, evidence_class: 'attested' as const }
      held.db.run('update events set evidence_class = ?, hash = ? where seq = 3', ['attested', recordHash(forged)])
      expect(await found(held.evidence)).toEqual(brokenAt(4))
    })
  })

  test.each([
    ['below the first', 0],
    ['far below it', -7],
    ['behind the last', 6],
    ['far behind it', 2 ** 40],
  ])('a record %s', async (_, seq) => {
    await undone(held, async () => {
      held.db.run(
        `insert into events select ?, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
        [seq],
      )
      expect(await found(held.evidence)).toEqual(brokenAt(seq === 2 ** 40 ? 6 : seq))
    })
  })

  test('a record behind the last that follows it, with its hash', async () => {
    await undone(held, async () => {
      const [last] = await held.evidence.read(5, 1)
      const record = { ...eventOf(6), seq: 6, prev_hash: last!.hash }
      const row = columns.map((name) => (name === 'hash' ? recordHash(record) : record[name]))
      held.db.run(`insert into events (seq, ${columns}) values (6, ?, ?, ?, ?, ?, ?, ?)`, row)
      const chain = chainOf(held.evidence)
      expect(await found(chain)).toEqual(brokenAt(6))
      await expect(chain.append([eventOf(7)])).rejects.toThrow('damaged')
    })
  })

  test('a damaged log opens, and takes nothing from the first append on, until it is whole again', async () => {
    const path = freshPath()
    await (await logOf(5, path)).close()
    const db = intruder(path)
    db.run(`update events set source = 'gitlab' where seq = 2`)
    const evidence = await openSqliteEvidence(path)
    const chain = chainOf(evidence)
    const refused = await chain.append([eventOf(6)]).catch((error: CstpError) => error)
    expect(refused).toMatchObject({ code: -32603, data: { kind: 'corrupt', broken_at_seq: 2 } })
    expect(chain.latest()).toMatchObject({ intact: false, records: 1 })
    expect((await evidence.head()).seq).toBe(5)
    db.run(`update events set source = 'github' where seq = 2`)
    expect(await found(chain)).toEqual(intact)
    expect((await chain.append([eventOf(6)])).first_seq).toBe(6)
    db.run(`update events set source = 'gitlab' where seq = 2`)
    expect(await found(chain)).toEqual(brokenAt(2))
    expect(await chain.append([eventOf(7)]).catch((error: CstpError) => error)).toMatchObject({ code: -32603 })
    db.close()
    await evidence.close()
  })

  test('all records, and all but the head', async () => {
    await undone(held, async () => {
      held.db.run('delete from events')
      expect(await found(held.evidence)).toEqual(brokenAt(null))
    })
  })

  test.each([
    ['its hash', `update head set hash = '${'a'.repeat(64)}'`],
    ['its number, lower', 'update head set seq = 4'],
    ['its number, higher', 'update head set seq = 6'],
    ['its tree', `update head set frontier = '["${'a'.repeat(64)}","${'b'.repeat(64)}"]'`],
    ['no list', `update head set frontier = '{}'`],
    ['no JSON', `update head set frontier = 'x'`],
    ['no head at all', 'delete from head'],
  ])('the head: %s', async (_, sql) => {
    await undone(held, async () => {
      held.db.run(sql)
      const chain = chainOf(held.evidence)
      expect(await found(chain)).toEqual(brokenAt(sql.endsWith('seq = 4') ? 5 : null))
      expect(await chain.append([eventOf(1)]).catch(({ message }) => message)).toMatch(/damaged/)
      expect((await held.evidence.hashes(1, 10)).length).toBe(5)
    })
  })
})

describe('a log of many pieces', () => {
  const held = withLog(8_300)
  // The edges of the pieces that are walked, of the kept nodes, and of the log.
  const edges = [1, 64, 65, 4_096, 4_097, 8_192, 8_193, 8_300]

  test('is intact', async () => {
    expect(await found(held.evidence)).toEqual(intact)
  })

  test.each(edges)('a change of record %d', async (seq) => {
    await undone(held, async () => {
      held.db.run(`update events set source = 'gitlab' where seq = ?`, [seq])
      expect(await found(held.evidence)).toEqual(brokenAt(seq))
    })
  })

  test.each(edges.slice(0, -1))('a change of record %d with a recomputed hash', async (seq) => {
    await undone(held, async () => {
      const [record] = await held.evidence.read(seq, 1)
      const hash = recordHash({ ...record!, payload: '{}' })
      held.db.run(`update events set payload = '{}', hash = ? where seq = ?`, [hash, seq])
      expect(await found(held.evidence)).toEqual(brokenAt(seq + 1))
    })
  })

  test.each(edges.slice(0, -1))('record %d is taken out', async (seq) => {
    await undone(held, async () => {
      held.db.run('delete from events where seq = ?', [seq])
      expect(await found(held.evidence)).toEqual(brokenAt(seq + 1))
    })
  })

  test.each([
    ['taken out, those behind it renumbered', 5_000, 'delete from events where seq = 5000', -1],
    ['put between, those behind it renumbered', 5_000, '', 1],
  ])('a record is %s', async (_, seq, sql, by) => {
    await undone(held, async () => {
      if (sql) held.db.run(sql)
      held.db.run('update events set seq = -seq where seq >= ?', [seq])
      held.db.run('update events set seq = -seq + ? where seq < 0', [by])
      if (by > 0)
        held.db.run(
          `insert into events select ?, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 4999`,
          [seq],
        )
      expect(await found(held.evidence)).toEqual(brokenAt(seq))
    })
  })

  test('two records change places', async () => {
    await undone(held, async () => {
      held.db.run('update events set seq = -1 where seq = 4096')
      held.db.run('update events set seq = 4096 where seq = 4097')
      held.db.run('update events set seq = 4097 where seq = -1')
      expect(await found(held.evidence)).toEqual(brokenAt(4_096))
    })
  })

  test('the first of two changes counts', async () => {
    await undone(held, async () => {
      held.db.run(`update events set source = 'x' where seq in (8000, 5000)`)
      held.db.run(`update nodes set hash = '${'a'.repeat(64)}' where level = 4 and "index" = 12`)
      expect(await found(held.evidence)).toEqual(brokenAt(5_000))
    })
  })

  test.each([
    ['a node changed', `update nodes set hash = '${'a'.repeat(64)}' where level = 4 and "index" = 400`],
    ['the node of a piece changed', `update nodes set hash = '${'a'.repeat(64)}' where level = 12 and "index" = 1`],
    ['a node taken out', 'delete from nodes where level = 4 and "index" = 255'],
    ['a node too many', `insert into nodes values (4, 518, '${'a'.repeat(64)}')`],
    ['a node too many, higher', `insert into nodes values (16, 0, '${'a'.repeat(64)}')`],
  ])('the tree: %s', async (_, sql) => {
    await undone(held, async () => {
      held.db.run(sql)
      expect(await found(held.evidence)).toEqual(brokenAt(null))
    })
  })

  test('the end is cut off: by the head, by one process that saw it, and by what was given out', async () => {
    await undone(held, async () => {
      const before = chainOf(held.evidence)
      expect(await found(before)).toEqual(intact)
      const { hash } = await held.evidence.head()
      held.db.run('delete from events where seq > 8191')
      expect(await found(held.evidence)).toEqual(brokenAt(null))
      // An attacker who knows the program changes head and tree to match.
      const shorter = await logOf(8_191)
      const { frontier, ...head } = await shorter.head()
      await shorter.close()
      held.db.run('update head set seq = ?, hash = ?, frontier = ?', [head.seq, head.hash, JSON.stringify(frontier)])
      held.db.run('delete from nodes where ("index" + 1) * (1 << level) > 8191')
      expect(await found(held.evidence)).toEqual(intact)
      expect(await found(held.evidence, hash)).toEqual(brokenAt(null))
      expect(await found(before)).toEqual(brokenAt(null))
      expect(await before.append([eventOf(1)]).catch(({ message }) => message)).toMatch(/damaged/)
      held.db.run('insert into checkpoints values (1, 8300, ?, ?, ?, 0)', [hash, 'note', '2026-07-01T10:00:00Z'])
      expect(await found(held.evidence)).toEqual(brokenAt(null))
    })
  })

  test('a chain rewritten with its tree and head contradicts the checkpoints that were given out', async () => {
    const path = freshPath()
    const forged = await logOf(0, path)
    for (let from = 1; from <= 8_300; from += 4_150)
      await appendEvents(
        forged,
        eventsFrom(from, 4_150).map((event) => ({ ...event, source: 'forger' })),
      )
    await forged.close()
    await undone(held, async () => {
      const before = chainOf(held.evidence)
      expect(await found(before)).toEqual(intact)
      const [record] = await held.evidence.read(7_000, 1)
      held.db.run('attach database ? as forged', [path])
      for (const table of ['events', 'nodes', 'head']) {
        held.db.run(`delete from main.${table}`)
        held.db.run(`insert into main.${table} select * from forged.${table}`)
      }
      held.db.run('detach database forged')
      expect(await found(held.evidence)).toEqual(intact)
      expect(await found(before)).toEqual(brokenAt(null))
      const save = 'insert into checkpoints values (1, ?, ?, ?, ?, 0)'
      held.db.run(save, [7_000, record!.hash, 'note', '2026-07-01T10:00:00Z'])
      expect(await found(held.evidence)).toEqual(brokenAt(null))
    })
  })

  test('a checkpoint that was never true', async () => {
    for (const [size, hash] of [
      [5, 'a'.repeat(64)],
      [0, 'a'.repeat(64)],
      [8_301, noHash],
      [-1, noHash],
    ] as const)
      await undone(held, async () => {
        held.db.run('insert into checkpoints values (1, ?, ?, ?, ?, 0)', [size, hash, '', ''])
        expect(await found(held.evidence)).toEqual(brokenAt(null))
      })
  })
})

describe('threads', () => {
  const path = freshPath()
  const size = 16_500
  let evidence: Evidence
  let db: Database
  const log = Object.assign(() => {}, { flush() {} })
  const threaded = () =>
    openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {}, walkers: () => startWalkers(path, 2, log) })
  beforeAll(async () => {
    evidence = await logOf(size, path)
    db = intruder(path)
  })
  afterAll(async () => {
    db.close()
    await evidence.close()
  })

  test('find what one thread finds', async () => {
    const chain = threaded()
    expect(await chain.verify(null)).toEqual(await chainOf(evidence).verify(null))
    expect(await chain.verify(null)).toMatchObject({ intact: true, records: size })
    for (const seq of [12_289, size]) {
      db.run(`update events set source = 'gitlab' where seq = ?`, [seq])
      expect(await found(threaded())).toEqual(brokenAt(seq))
      db.run(`update events set source = 'github' where seq = ?`, [seq])
    }
    expect(await found(threaded())).toEqual(intact)
  })

  test('that fail are done without', async () => {
    const chain = openChain({
      evidence,
      now: Date.now,
      yieldToEventLoop: async () => {},
      walkers: () => startWalkers(freshPath(), 2, log),
    })
    expect(await found(chain)).toEqual(intact)
  })
})
