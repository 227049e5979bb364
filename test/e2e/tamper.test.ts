/**
 * An attacker with access to the files changes them: each kind of act in each way, and what the examination, a start, a receipt
 * that was given out before, somebody who kept a checkpoint, and a witness to whom the server sends its next one say of it.
 * `docs/design/ledger.md` has the table.
 */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noHash } from '../../sdk/storage/evidence-checks.ts'
import { type ActKind, actKinds, type StoredAct, type ThreadReads } from '../../sdk/storage/thread.ts'
import { checkpointText, createCheckpoints } from '../../src/domain/ledger/engine/checkpoints.ts'
import type { Signer } from '../../src/domain/ledger/engine/note.ts'
import { proveConsistency } from '../../src/domain/ledger/engine/proof.ts'
import { grow, rootOf } from '../../src/domain/ledger/engine/tree.ts'
import { commitmentOf } from '../../src/domain/ledger/thread/commitment.ts'
import { examineThread, type ThreadFlaw } from '../../src/domain/ledger/thread/examine/examine.ts'
import { startFlaw } from '../../src/domain/ledger/thread/examine/start.ts'
import { receiptsOf } from '../../src/domain/ledger/thread/receipts.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { readersOf } from '../../src/drivers/store/sqlite/inspect.ts'
import { NotCosigned, witnessClient } from '../../src/transparency/witness-client.ts'
import { readKey } from '../../src/verify/note.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { threadedStory } from '../support/evidence/threaded-story.ts'
import { bareEnv, type Child, spawn } from '../support/process.ts'
import { openSqliteProgram } from '../support/program.ts'

setDefaultTimeout(120_000)

const lastEvent = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { run: 'the last one' } }

let home: string
/** The store as it should be, and as it was a moment before. */
let whole: Buffer
let early: Buffer
/** What was given out and is kept elsewhere: a checkpoint of all entries. */
let mark: { origin: string; size: number; root_hash: string; note: string; key: string }
let acts: StoredAct[]
let now: number
/** Another machine: it cosigned the checkpoint of all entries, and who changes the files has no say there. */
let witness: { child: Child; url: string; key: string }
/** The server's key: who has the files has it too. */
let signer: Signer

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'cstp-tamper-'))
  const [dir, old] = [join(home, 'data'), join(home, 'old')]
  const program = await openSqliteProgram(dir)
  const { services, store, clock } = program
  await threadedStory(program)
  cpSync(dir, old, { recursive: true })
  await program.record({ decision: 'The last one' })
  await program.call('ingestEvidence', { source: 'ci', events: [lastEvent] }, 'root')
  await services.thread.sequence()
  const { seq: size, frontier } = await store.thread.head()
  signer = services.thread.signer
  const signed = { origin: signer.name, size, root_hash: rootOf(frontier) }
  mark = { ...signed, note: signer.sign(checkpointText(signed)), key: signer.verifier_key }
  acts = await store.thread.read({ from: 1, limit: size })
  now = clock.now + 3_600_000
  await program.close()
  ;[whole, early] = [bytesOf(dir), bytesOf(old)]
  witness = await startWitness()
  await tampered(
    () => {},
    async ({ witnessed }) => expect(witnessed).toBe('cosigned'),
  )
})
afterAll(async () => {
  witness.child.kill()
  await witness.child.exited
  await rm(home, { recursive: true, force: true })
})

async function startWitness(): Promise<typeof witness> {
  const logs = join(home, 'logs.txt')
  await writeFile(logs, `log ${mark.key}\nquorum none\n`)
  const args = ['--logs', logs, '--listen', '127.0.0.1:0', '--state', join(home, 'witness'), '--json']
  const child = spawn(['witness', 'serve', ...args], bareEnv(home))
  const reader = child.stdout.getReader()
  const { url, verifier_key: key } = JSON.parse(new TextDecoder().decode((await reader.read()).value))
  reader.releaseLock()
  return { child, url, key }
}

/** A store in one file, without a log beside it. */
function bytesOf(dir: string): Buffer {
  const db = new Database(join(dir, 'cstp.db'))
  db.run('PRAGMA journal_mode = DELETE')
  db.close()
  return readFileSync(join(dir, 'cstp.db'))
}

interface Found {
  /** What the doctor says. */
  flaws: ThreadFlaw[]
  /** What ends a start. */
  start: string | null
  /** Whether an act of this id still has a receipt that verifies offline. */
  receipt(record_id: string): Promise<boolean>
  /** Whether its entries still give the root that somebody outside knows. */
  entries: boolean
  /** The result of the server's next checkpoint: cosigned by the witness, refused by it, or the server itself can't sign. */
  witnessed: 'cosigned' | 'refused' | 'unsigned'
}

/** Sends the next checkpoint of a store to the witness, as a server does that knows of no earlier one. */
async function sendCheckpoint(thread: ThreadReads): Promise<Found['witnessed']> {
  const log = { ...thread, checkpoints: async () => [], saveCheckpoint: async () => {} }
  const signed = await createCheckpoints({ evidence: log, signer, now: () => now })
    .latest()
    .catch(() => null)
  if (signed === null) return 'unsigned'
  const { url, key } = witness
  const client = witnessClient({ name: 'w', key: readKey(key), url }, async (old_size, size) => {
    const { hashes } = await proveConsistency(log, old_size, size, await log.head())
    return hashes
  })
  try {
    await client.cosign(signed, AbortSignal.timeout(10_000))
    // It signs nothing but the history that it knows.
    expect([signed.size, signed.root_hash]).toEqual([mark.size, mark.root_hash])
    return 'cosigned'
  } catch (error) {
    if (!(error instanceof NotCosigned)) throw error
    expect(error.message).toMatch(/refused with 4|has cosigned another size/)
    return 'refused'
  }
}

interface Places {
  store?: Buffer
  /** Folder of the evidence log. */
  chain?: string
  /** What is beside the key; null if that is as old as the rest. */
  known_mark?: typeof mark | null
}

/** Changes the store as somebody who dropped its triggers, and looks; every time at another copy. */
async function tampered(
  change: (db: Database) => void,
  look: (found: Found) => Promise<void>,
  { store = whole, chain = 'data', known_mark = mark }: Places = {},
): Promise<void> {
  const db = Database.deserialize(store, { strict: true })
  const evidence = await openSqliteEvidence(join(home, chain, 'provenance.db'))
  for (const { name } of db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all())
    db.run(`drop trigger ${name}`)
  change(db)
  const { close, ...readers } = readersOf(db)
  const sources = { ...readers, evidence }
  const { thread } = sources
  const known = { logs: [{ key: readKey(mark.key), url: null }], witnesses: [], quorum: 'none', isQuorum: () => true }
  try {
    await look({
      flaws: await Array.fromAsync(examineThread(sources, { yieldToEventLoop: async () => {}, now })),
      start: (await startFlaw(sources, known_mark))?.what ?? null,
      async receipt(record_id) {
        const [act] = await thread.read({ record_ids: [record_id] })
        if (act === undefined) return false
        const receipts = await receiptsOf(thread, mark, [act]).catch(() => [])
        return receipts.length > 0 && verifyReceipts(JSON.stringify({ receipts }), known).verified
      },
      entries: rootOf(grow([], 0, await thread.hashes(1, mark.size)).frontier) === mark.root_hash,
      witnessed: await sendCheckpoint(thread),
    })
  } finally {
    close()
    db.close()
    await evidence.close()
  }
}

/** The last act of a kind that still says something, and another one after or before it. */
const actOf = (kind: ActKind): StoredAct => acts.findLast((act) => act.kind === kind && act.payload !== null)!
const otherThan = ({ seq }: StoredAct): StoredAct => acts.find((act) => act.payload !== null && act.seq !== seq)!

/** Makes head and tree again, so that they are those of the rows. The key is not needed for it. */
function rebuild(db: Database): void {
  const rows = db.query<{ commitment: string }, []>('select commitment from acts order by seq').all()
  const grown = grow(
    [],
    0,
    rows.map(({ commitment }) => commitment),
  )
  db.run('delete from act_nodes')
  for (const { level, index, hash } of grown.nodes)
    db.run('insert into act_nodes values (?, ?, ?)', [level, index, hash])
  db.run('update act_head set seq = ?, hash = ?, frontier = ?', [
    rows.length,
    rows.at(-1)?.commitment ?? noHash,
    JSON.stringify(grown.frontier),
  ])
}

const set = (db: Database, seq: number, changed: Partial<StoredAct>): void => {
  const names = Object.keys(changed)
  db.run(`update acts set ${names.map((name) => `${name} = ?`).join(', ')} where seq = ?`, [
    ...(Object.values(changed) as string[]),
    seq,
  ])
}
const flipped = (text: string): string => text.replace('"at":"2', '"at":"3')

/** What is done to an act; the examination names its place, unless it can only name those around it. */
const ways: Record<string, (db: Database, act: StoredAct) => void> = {
  'flipped: payload': (db, { seq, payload }) => set(db, seq!, { payload: flipped(payload!) }),
  'flipped: commitment': (db, { seq, commitment }) =>
    set(db, seq!, { commitment: `${commitment[0] === '0' ? '1' : '0'}${commitment.slice(1)}` }),
  'flipped, and committed to again': (db, { seq, payload, salt }) =>
    set(db, seq!, { payload: flipped(payload!), commitment: commitmentOf(salt!, flipped(payload!)) }),
  'salt swapped': (db, act) => set(db, act.seq!, { salt: otherThan(act).salt! }),
  'payload of another record': (db, act) => set(db, act.seq!, { payload: otherThan(act).payload! }),
  'all of another record': (db, act) => {
    const { payload, salt, commitment } = otherThan(act)
    set(db, act.seq!, { payload: payload!, salt: salt!, commitment })
  },
  deleted: (db, { seq }) => db.run('delete from acts where seq = ?', [seq]),
  'deleted, and head and tree made again': (db, { seq }) => {
    db.run('delete from acts where seq = ?', [seq])
    db.run('update acts set seq = -seq where seq > ?', [seq])
    db.run('update acts set seq = -seq - 1 where seq < 0')
    rebuild(db)
  },
  'erased without a redaction': (db, { seq }) =>
    db.run('update acts set payload = null, salt = null where seq = ?', [seq]),
  'reordered, and head and tree made again': (db, act) => {
    const other = otherThan(act).seq!
    db.run('update acts set seq = -1 where seq = ?', [act.seq])
    db.run('update acts set seq = ? where seq = ?', [act.seq, other])
    db.run('update acts set seq = ? where seq = -1', [other])
    rebuild(db)
  },
  'inserted, and head and tree made again': (db, act) => {
    db.run('update acts set seq = -seq where seq >= ?', [act.seq])
    db.run('update acts set seq = -seq + 1 where seq < 0')
    const { kind, decision_id, at, payload, salt } = act
    const record_id = `${act.record_id}-more`
    const said = payload!.replace(JSON.stringify(act.record_id), JSON.stringify(record_id))
    db.run(
      'insert into acts (seq, record_id, kind, decision_id, at, payload, salt, commitment) values (?, ?, ?, ?, ?, ?, ?, ?)',
      [...[act.seq, record_id, kind, decision_id, at, said, salt, commitmentOf(salt!, said)]],
    )
    rebuild(db)
  },
  'truncated from it on, and head and tree made again': (db, { seq }) => {
    db.run('delete from acts where seq >= ?', [seq])
    db.run('delete from act_checkpoints')
    rebuild(db)
  },
}
/** Ways whose place the tree alone tells, to sixteen entries, or only that a later state is gone. */
const around = new Set(Object.keys(ways).filter((way) => way.includes('again')))

test('whole files have no flaw, and a receipt of every act verifies', () =>
  tampered(
    () => {},
    async ({ flaws, start, entries, receipt }) => {
      expect([flaws, start, entries]).toEqual([[], null, true])
      for (const kind of actKinds) expect([kind, await receipt(actOf(kind).record_id)]).toEqual([kind, true])
    },
  ))

for (const [way, change] of Object.entries(ways))
  test(`an act of any kind is ${way}`, async () => {
    for (const kind of actKinds) {
      const act = actOf(kind)
      await tampered(
        (db) => change(db, act),
        async ({ flaws, start, entries, witnessed, receipt }) => {
          // The doctor says both.
          expect({ kind, found: flaws.length > 0 || start !== null }).toEqual({ kind, found: true })
          if (!around.has(way))
            expect({ kind, places: flaws.map(({ index }) => index) }).toEqual({
              kind,
              places: expect.arrayContaining([act.seq! - 1]),
            })
          // Content beside a commitment that stays is no matter of the tree.
          const ofTree = !/^(?:flipped: payload|salt|payload|erased)/.test(way)
          expect({ kind, entries }).toEqual({ kind, entries: !ofTree })
          // Another tree is never cosigned; an old one whose entries were changed beneath it is still the old one.
          if (way.includes('tree made again')) expect({ kind, witnessed }).toEqual({ kind, witnessed: 'refused' })
          else expect(['cosigned', ...(ofTree ? ['unsigned'] : [])]).toContain(witnessed)
          if (around.has(way)) expect({ kind, start }).toEqual({ kind, start: expect.any(String) })
          expect({ kind, receipt: await receipt(act.record_id) }).toEqual({ kind, receipt: false })
        },
      )
    }
  })

/** What acts speak of, changed without them. */
const beside: [string, (db: Database) => void, RegExp][] = [
  [
    'a line of the trail is edited',
    (db) => db.run(`update audit set agent = 'eve' where method = 'cstp.reviewDecision'`),
    /audit entry/,
  ],
  [
    'a line of the trail is deleted',
    (db) => db.run(`delete from audit where method = 'cstp.reviewDecision'`),
    /audit entry that it names is gone/,
  ],
  [
    'a line is added to the trail',
    (db) =>
      db.run(`insert into audit (at, at_ms, agent, method, request_id, ids, allowed, rules, detail)
        select at, at_ms, 'eve', method, request_id, ids, allowed, rules, detail from audit where method = 'cstp.reviewDecision'`),
    /line \d+ of the audit trail has no act/,
  ],
  [
    'lines are deleted under a mark of retention that nobody made',
    (db) => {
      db.run(`insert into audit (at, at_ms, agent, method, request_id, ids, allowed, rules, detail) values
        ('2026-07-01T00:00:00.000Z', 0, 'cstp', 'audit.retention', 'retention', '[]', null, '[]', '{"removed":9,"before_ms":9e15}')`)
      db.run(`delete from audit where method like 'cstp.%'`)
    },
    /is gone, or was changed/,
  ],
  [
    'a decision is rewritten',
    (db) => db.run(`update documents set doc = replace(doc, 'Pay', 'Give')`),
    /changed without an act/,
  ],
  [
    'a decision is deleted',
    (db) => db.run(`update decisions set gone = 1`),
    /is not there, and nothing says that it was erased/,
  ],
  ['a decision is set back', (db) => db.run(`update decisions set revision = 1`), /set back/],
  [
    'rules of the past are changed',
    (db) => db.run(`update keyed_records set value = replace(value, 'payment', 'paymemt') where collection = 'policy'`),
    /rules in the archive were changed/,
  ],
  [
    'an approval is granted',
    (db) =>
      db.run(
        `update keyed_records set value = replace(value, '"requester":"alice"', '"requester":"eve"') where collection = 'approval'`,
      ),
    /the approval \S+ was changed without the service: requester differs/,
  ],
]

for (const [name, change, words] of beside)
  test(`${name}: the examination says so`, () =>
    tampered(change, async ({ flaws }) => {
      expect(flaws.map(({ what }) => what).join('\n')).toMatch(words)
    }))

test('the store is an older copy: what is known outside of it says so, and nothing in it can', () =>
  tampered(
    () => {},
    async ({ flaws, start, entries, witnessed }) => {
      expect(flaws).toEqual([])
      expect([start, entries, witnessed]).toEqual([expect.stringContaining('is an older copy'), false, 'refused'])
    },
    { store: early },
  ))

test('the evidence log is rolled back: the thread knows its records, and the witness of the thread knows the thread', async () => {
  await tampered(
    () => {},
    async ({ start }) => expect(start).toMatch(/record/),
    { chain: 'old' },
  )
  // Rolled back together with all that knows of it here, it is whole; only another machine remembers.
  await tampered(
    () => {},
    async ({ flaws, start, witnessed }) => expect([flaws, start, witnessed]).toEqual([[], null, 'refused']),
    { store: early, chain: 'old', known_mark: null },
  )
})

test('the table of the design has each way, and what it shows', async () => {
  const page = await readFile(join(import.meta.dir, '../../docs/design/ledger.md'), 'utf8')
  for (const way of Object.keys(ways)) expect(page).toContain(`| ${way} |`)
})
