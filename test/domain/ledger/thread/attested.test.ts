/** Keyed records are compared with the ledger: an edit of any field of any of them is found by the examination, and never used. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { notePins } from '../../../../src/domain/gateway/pins.ts'
import { attestedCollections, attestedReads } from '../../../../src/domain/ledger/thread/attested.ts'
import { examineThread, type ThreadFlaw } from '../../../../src/domain/ledger/thread/examine/examine.ts'
import { keyedFlaws } from '../../../../src/domain/ledger/thread/examine/keyed.ts'
import { attestExisting } from '../../../../src/domain/ledger/thread/threaded.ts'
import { closeFinding } from '../../../../src/domain/record/history/drift-closed.ts'
import { readersOf } from '../../../../src/drivers/store/sqlite/inspect.ts'
import { pathsOf, withEdit } from '../../../support/evidence/edits.ts'
import { threadedStory } from '../../../support/evidence/threaded-story.ts'
import { openSqliteProgram, type TestProgram } from '../../../support/program.ts'

const day = 86_400_000
const rules = `
guardrails:
- { id: pay, action: step_up, message: Payments need a person, condition_category: payment }
- { id: later, action: defer, message: Not yet, condition_category: release, defer: { reason: wait, expires: 1h } }
circuit_breakers: [{ scope: "category:mail", failure_threshold: 1, window_ms: ${day}, cooldown_ms: ${day} }]
`
const payment = (description: string) => ({ action: { description, category: 'payment' } })
const mail = { action: { description: 'Send the newsletter', category: 'mail' } }

let dir: string
let program: TestProgram
/** The database as it should be. */
let whole: Uint8Array
/** An approval that was granted and not yet used, and its decision's id. */
let granted: string
let failed: string
let erased: string

interface Row {
  collection: string
  key: string
  value: string
  expires_ms: number | null
}
let rows: Row[]

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-attested-'))
  program = await openSqliteProgram(dir)
  const { call, record, store, clock, services } = program
  await threadedStory(program)
  await program.rules(rules)
  const { approval } = await call('checkGuardrails', payment('Pay the rent'))
  await call('decideApproval', { id: approval!.id, decision: 'approve', reason: 'It is due' }, 'carol')
  granted = approval!.id
  const { approval: denied } = await call('checkGuardrails', payment('Pay the fine'))
  await call('decideApproval', { id: denied!.id, decision: 'deny', reason: 'It is not ours' }, 'carol')
  await call('checkGuardrails', payment('Pay the phone'))
  await call('checkGuardrails', { action: { description: 'Release', category: 'release' } })
  failed = await record({ category: 'mail', decision: 'Send a letter to all' })
  await call('updateDecision', { id: failed, updates: { tags: ['letter'] } })
  await call('reviewDecision', { id: failed, outcome: 'failure' }, 'bob')
  const other = await record()
  await call('linkDecisions', { source_id: failed, target_id: other, edge_type: 'depends_on' })
  await call('unlinkDecisions', { source_id: failed, target_id: other, edge_type: 'depends_on' })
  erased = await record({ source_key: 'letters/1', created_at: '2026-06-30', recorded_by: 'eve' }, 'root')
  await call('eraseDecision', { id: erased, basis: 'article 17', reason: 'asked for' }, 'root')
  const place = { place: 'npx files', identity: 'files 1.0' }
  const tool = { name: 'read', description: 'Reads a file' }
  await notePins(store, 'files', [tool], place, clock.now)
  await notePins(store, 'files', [{ ...tool, description: 'Reads and sends a file' }], place, clock.now)
  await call('acceptPins', { server: 'files' }, 'root')
  await store.transaction((tx) => tx.keyed.put('hook_commit', failed, ['0123456789abcdef']))
  await store.transaction((tx) => closeFinding(tx, 'agent', 'mallory', '2026-06-30'))
  clock.now += 60_000
  await services.thread.sequence()
  using db = new Database(join(dir, 'cstp.db'), { strict: true })
  whole = db.serialize()
  // A database in memory has no log beside it.
  whole.fill(1, 18, 20)
  rows = db.query<Row, []>('select collection, key, value, expires_ms from keyed_records').all()
  rows = rows.filter(({ collection }) => attestedCollections.includes(collection))
})
afterAll(async () => {
  await program.close()
  await rm(dir, { recursive: true, force: true })
})

/** Changes a copy of the store and looks at it. */
async function tampered(
  change: (db: Database) => void,
  look: (readers: ReturnType<typeof readersOf>) => Promise<void>,
): Promise<void> {
  const db = Database.deserialize(whole, { strict: true })
  change(db)
  const readers = readersOf(db)
  try {
    await look(readers)
  } finally {
    readers.close()
    db.close()
  }
}
const yieldToEventLoop = async () => {}
const set = (db: Database, { collection, key }: Row, value: unknown) =>
  db.run('update keyed_records set value = ? where collection = ? and key = ?', [
    JSON.stringify(value),
    collection,
    key,
  ])

describe('the tamper matrix of keyed records', () => {
  test('has a record of every attested collection, and none is found where nobody changed any', async () => {
    expect([...new Set(rows.map(({ collection }) => collection))].sort()).toEqual([...attestedCollections].sort())
    await tampered(
      () => {},
      async (readers) => {
        expect(await Array.fromAsync(keyedFlaws(readers, yieldToEventLoop))).toEqual([])
        const { get } = attestedReads(readers, () => program.clock.now)
        for (const { collection, key } of rows) expect(await get(collection, [key])).toHaveLength(1)
      },
    )
  })

  test('an edit of any field of any record is found, named and not used', async () => {
    let edits = 0
    for (const row of rows) {
      const value: unknown = JSON.parse(row.value)
      for (const path of pathsOf(value)) {
        edits++
        await tampered(
          (db) => set(db, row, withEdit(value, path)),
          async (readers) => {
            const flaws: ThreadFlaw[] = await Array.fromAsync(keyedFlaws(readers, yieldToEventLoop))
            const about = [row.collection, row.key, path]
            expect([about, flaws.map(({ what }) => what)]).toEqual([about, [expect.stringContaining(row.key)]])
            // Its member is named.
            if (typeof path[0] === 'string' && !Array.isArray(value)) expect(flaws[0]!.what).toContain(path[0])
            const { get, list } = attestedReads(readers, () => program.clock.now)
            const refusal = { kind: 'corrupt', message: expect.stringContaining('It is not used') }
            await expect(get(row.collection, [row.key])).rejects.toMatchObject(refusal)
            await expect(list(row.collection, { prefix: row.key, limit: 9 })).rejects.toMatchObject(refusal)
          },
        )
      }
    }
    expect(edits).toBeGreaterThan(150)
  })

  test('a record that is put back, removed, added, moved or kept for longer is found, and not used', async () => {
    const breaker = rows.find(({ collection }) => collection === 'breaker')!
    const consumed = rows.find(({ collection, value }) => collection === 'approval' && value.includes('"consumed"'))!
    const before = { ...JSON.parse(consumed.value), state: 'approved', consumed_ms: null }
    const ways: Record<string, [(db: Database) => void, Row]> = {
      'put back': [(db) => set(db, consumed, before), consumed],
      removed: [(db) => db.run(`delete from keyed_records where collection = 'breaker'`), breaker],
      added: [
        (db) => db.run(`update keyed_records set key = 'NEW0-0000' where key = ?`, [consumed.key]),
        { ...consumed, key: 'NEW0-0000' },
      ],
      'kept for longer': [
        (db) =>
          db.run(`update keyed_records set expires_ms = expires_ms + 1 where collection = 'approval' and key = ?`, [
            consumed.key,
          ]),
        consumed,
      ],
    }
    for (const [way, [change, { collection, key }]] of Object.entries(ways))
      await tampered(change, async (readers) => {
        const sources = { ...readers, evidence: program.services.evidence }
        const found = await Array.fromAsync(
          examineThread(sources, { yieldToEventLoop, now: program.clock.now + 3_600_000 }),
        )
        expect([way, found.map(({ what }) => what).join('\n')]).toEqual([way, expect.stringContaining(key)])
        const { get } = attestedReads(readers, () => program.clock.now)
        await expect(get(collection, [key])).rejects.toMatchObject({ kind: 'corrupt' })
      })
  })
})

describe('a record that was changed is not used', () => {
  /** Waits until the program's transaction has ended, in turns: to wait inside of SQLite would stop the program, which shares this thread. */
  async function write(db: Database, statement: string, values: string[] = []): Promise<number> {
    for (let left = 1_000; ; left--)
      try {
        return db.run(statement, values).changes
      } catch (error) {
        if ((error as { code?: string }).code !== 'SQLITE_BUSY' || left === 0) throw error
        await Bun.sleep(10)
      }
  }

  /** Changes the store beneath the running program, calls it, and puts the store right again. */
  async function beneath(statement: string, then: () => Promise<void>): Promise<void> {
    using db = new Database(join(dir, 'cstp.db'), { strict: true })
    const before = db.query<Row, []>('select collection, key, value, expires_ms from keyed_records').all()
    expect(await write(db, statement)).toBeGreaterThan(0)
    try {
      await then()
    } finally {
      for (const { collection, key, value } of before)
        await write(db, 'update keyed_records set value = ? where collection = ? and key = ?', [value, collection, key])
    }
  }
  const says = (words: string) => ({ message: expect.stringContaining(words) })

  test('an approval when it is decided, used, shown and listed', async () => {
    const put = (name: string, value: string) =>
      `update keyed_records set value = json_set(value, '$.${name}', ${value}) where collection = 'approval' and key = '${granted}'`
    for (const [name, value] of [
      ['decided_by', `'eve'`],
      ['reason', `'Because'`],
      ['approved_until_ms', '9e15'],
      ['request_digest', `'0'`],
    ] as const)
      await beneath(put(name, value), async () => {
        const what = says(`the approval ${granted} was changed without the service: ${name}`)
        expect(await program.refused('checkGuardrails', payment('Pay the rent'))).toMatchObject(what)
        const answer = { id: granted, decision: 'deny', reason: 'no' }
        expect(await program.refused('decideApproval', answer, 'carol')).toMatchObject(what)
        expect(await program.refused('getApproval', { id: granted }, 'carol')).toMatchObject(what)
        expect(await program.refused('listApprovals', {}, 'carol')).toMatchObject(what)
      })
    // What was put right is used, once.
    expect(await program.call('checkGuardrails', payment('Pay the rent'))).toMatchObject({ allowed: true })
    expect(await program.call('checkGuardrails', payment('Pay the rent'))).toMatchObject({ allowed: false })
    const reused = `update keyed_records set value = json_set(value, '$.state', 'approved', '$.consumed_ms', null) where collection = 'approval' and key = '${granted}'`
    await beneath(reused, async () => {
      expect(await program.refused('getApproval', { id: granted }, 'carol')).toMatchObject(says('consumed_ms, state'))
    })
  })

  test('a breaker at a verdict, and an administrator can reset it', async () => {
    expect(await program.call('checkGuardrails', mail)).toMatchObject({ allowed: false })
    const closed = `update keyed_records set value = json_set(value, '$.state', 'closed', '$.failures', json('[]')) where collection = 'breaker'`
    await beneath(closed, async () => {
      expect(await program.refused('checkGuardrails', mail)).toMatchObject(
        says('the breaker category:mail was changed'),
      )
      expect(await program.call('preAction', mail)).toMatchObject({
        allowed: false,
        violations: [{ guardrail_id: 'guardrails_unavailable' }],
      })
    })
    using db = new Database(join(dir, 'cstp.db'), { strict: true })
    await write(db, closed)
    await program.call('resetCircuit', { scope: 'category:mail', reason: 'checked' }, 'root')
    expect(await program.call('checkGuardrails', mail)).toMatchObject({ allowed: true })
  })

  test('tools of a server, and an administrator puts their record aside: all of them wait then', async () => {
    const { store, clock } = program
    const forged = `update keyed_records set value = replace(value, 'Reads and sends', 'Reads') where collection = 'gateway_pin'`
    await beneath(forged, async () => {
      const what = says('cstp gateway pins accept files puts it aside')
      expect(await program.refused('listPins', {}, 'root')).toMatchObject(what)
      expect(await program.refused('acceptPins', { server: 'files', tool: 'read' }, 'root')).toMatchObject(what)
    })
    using db = new Database(join(dir, 'cstp.db'), { strict: true })
    await write(db, forged)
    expect(await program.call('acceptPins', { server: 'files' }, 'root')).toEqual({ accepted: [] })
    const place = { place: 'npx files', identity: 'files 1.0' }
    expect(await notePins(store, 'files', [{ name: 'read', description: 'Reads' }], place, clock.now)).toEqual([])
    expect(await program.call('acceptPins', { server: 'files' }, 'root')).toEqual({ accepted: ['read'] })
  })

  test('what a decision said before in the dossier and in its revisions', async () => {
    const revision = `update keyed_records set value = replace(value, 'updated_by":"alice', 'updated_by":"eve') where collection = 'revision'`
    await beneath(revision, async () => {
      const what = says('updated_by differs')
      expect(await program.refused('getDossier', { id: failed })).toMatchObject(what)
      expect(await program.refused('getDecision', { id: failed, revisions: true })).toMatchObject(what)
    })
  })

  test('an erasure, the rules of a time, and a deferral', async () => {
    await beneath(
      `update keyed_records set value = json_set(value, '$.basis', 'none') where collection = 'erased'`,
      async () => {
        expect(await program.refused('getDecision', { id: erased })).toMatchObject(says(`the erased ${erased}`))
      },
    )
    const periods = `update keyed_records set value = json_set(value, '$.periods[0].from', '2000-01-01T00:00:00Z') where collection = 'policy'`
    await beneath(periods, async () => {
      const as_of = '2026-07-01T00:00:00Z'
      expect(await program.refused('listGuardrails', { as_of })).toMatchObject(says('periods differs'))
    })
    await beneath(
      `update keyed_records set value = json_set(value, '$.until_ms', 0) where collection = 'deferral'`,
      async () => {
        const release = { action: { description: 'Release', category: 'release' } }
        expect(await program.refused('checkGuardrails', release)).toMatchObject(says('until_ms differs'))
      },
    )
  })
})

test('records that are added before all others are not taken for some from before they were attested', () =>
  tampered(
    (db) =>
      db.run(
        `insert into keyed_records select collection, '!', 1, value, null from keyed_records where collection in (${attestedCollections.map((one) => `'${one}'`)}) group by collection`,
      ),
    async ({ keyed, thread }) => {
      const flaws = await Array.fromAsync(keyedFlaws({ keyed, thread }, yieldToEventLoop))
      expect(flaws.map(({ what }) => what)).toContainEqual(expect.stringContaining('the approval ! was added without'))
      const transaction = () => Promise.reject(new Error('nothing is to be attested'))
      await attestExisting({ keyed, thread, transaction } as never, { now: () => 0, randomHex: () => '00' })
    },
  ))

test('records from before they were attested are attested once, and only then', async () => {
  await tampered(
    (db) => {
      for (const { name } of db
        .query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`)
        .all())
        db.run(`drop trigger ${name}`)
      db.run(`delete from acts where kind = 'state'`)
    },
    async (readers) => {
      const appended: string[] = []
      const tools = { now: () => 0, randomHex: (bytes: number) => String(appended.length).padStart(2 * bytes, '0') }
      const { keyed, thread } = readers
      const transaction = async (work: (tx: never) => Promise<unknown>) =>
        work({
          keyed,
          thread,
          append: async ({ acts }: { acts: { decision_id: string }[] }) =>
            void appended.push(...acts.map(({ decision_id }) => decision_id)),
        } as never)
      expect(await Array.fromAsync(keyedFlaws(readers, yieldToEventLoop))).toEqual([])
      await attestExisting({ keyed, thread, transaction } as never, tools)
      expect(appended.sort()).toEqual(rows.map(({ collection, key }) => `${collection}/${key}`).sort())
    },
  )
  await tampered(
    () => {},
    async ({ keyed, thread }) => {
      const transaction = () => Promise.reject(new Error('nothing is left to attest'))
      await attestExisting({ keyed, thread, transaction } as never, { now: () => 0, randomHex: () => '00' })
    },
  )
})
