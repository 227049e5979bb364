/** The whole engine on real drivers with a clock that tests move; one suite for every store that can hold it. */
import { afterEach, describe, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type * as v from 'valibot'
import { openMemoryEvidence } from '../../docs/examples/driver/evidence.ts'
import { openMemoryStore } from '../../docs/examples/driver/store.ts'
import type { CstpError } from '../../sdk/errors.ts'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { StorageError } from '../../sdk/storage/errors.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Store, StoreOptions } from '../../sdk/storage/store.ts'
import { openBundleFiles } from '../../src/app/folders.ts'
import { openPrinter } from '../../src/app/printer.ts'
import { createDispatch, type Dispatch } from '../../src/calls/dispatch.ts'
import type { Services } from '../../src/calls/services.ts'
import { type Caller, roles, type Scope, scopes } from '../../src/core/caller.ts'
import { openPhrases } from '../../src/domain/learn/memory/clusters.ts'
import { openWisdom } from '../../src/domain/learn/memory/wisdom.ts'
import { createCheckpoints } from '../../src/domain/ledger/engine/checkpoints.ts'
import { signerOf } from '../../src/domain/ledger/engine/note.ts'
import { openChain } from '../../src/domain/ledger/evidence/chain.ts'
import { publishAlone } from '../../src/domain/ledger/thread/receipts.ts'
import { openThread, threadSigner } from '../../src/domain/ledger/thread/sequencer.ts'
import { threaded } from '../../src/domain/ledger/thread/threaded.ts'
import { enact } from '../../src/domain/policy/judge/archive.ts'
import {
  buildPolicy,
  type ClosedLists,
  closedLists,
  openLists,
  type PolicySet,
} from '../../src/domain/policy/rules/set.ts'
import { sourceMarks } from '../../src/domain/record/decision/tombstone.ts'
import { startTracker } from '../../src/domain/record/deliberation/tracker.ts'
import { openIndexSync } from '../../src/domain/search/index-sync.ts'
import { startOutbox } from '../../src/domain/search/outbox.ts'
import { analyse } from '../../src/domain/search/terms.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'
import { openPostgresEvidence } from '../../src/drivers/evidence/postgres/driver.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { openPostgresStore } from '../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import type * as declared from '../../src/methods/index.ts'
import { methods } from '../../src/methods/table.ts'
import { compileDraft, loadControls } from '../../src/policy/files.ts'
import { postgres, whyNoPostgres } from './postgres.ts'
import { atEnd, inTemporaryDir } from './process.ts'
import { testStart } from './record.ts'
import { emptySchema, laidBack } from './schemas.ts'
import { openMemorySearch } from './search.ts'

type Declared = typeof declared
export type MethodName = keyof Declared
export type Result<N extends MethodName> = v.InferOutput<Declared[N]['result']>

/** Two agents that may read and write, one that may do everything, and one for each scope of people. */
export const callers = {
  alice: { agent: 'alice', scopes: new Set<Scope>(['read', 'write']) },
  bob: { agent: 'bob', scopes: new Set<Scope>(['read', 'write']) },
  root: { agent: 'root', scopes: new Set<Scope>(scopes) },
  curator: { agent: 'curator', scopes: new Set<Scope>(['read', 'write', 'curate']) },
  approver: { agent: 'approver', scopes: new Set<Scope>(['read', 'approve']) },
  carol: { agent: 'carol', scopes: new Set<Scope>(['read', 'approve']) },
  reader: { agent: 'reader', scopes: new Set<Scope>(['read']) },
  lead: { agent: 'lead', scopes: new Set<Scope>(roles.lead) },
  auditor: { agent: 'auditor', scopes: new Set<Scope>(roles.auditor) },
  writer: { agent: 'writer', scopes: new Set<Scope>(['write']) },
} satisfies Record<string, Caller>
export type As = keyof typeof callers

/** The key of every test's chain: two servers on one chain sign alike. */
const testKey = generateKeyPairSync('ed25519').privateKey
export const testSigner = signerOf('cstp.test/log', testKey)

/** How the embedder behaves: it answers, refuses, or never answers until the caller gives up. */
export type Health = 'up' | 'away' | 'hangs'

export interface TestProgram {
  services: Services
  dispatch: Dispatch
  store: Store
  /** Moves only when a test moves it. */
  clock: { now: number }
  embedder: { health: Health; id: string }
  /** Puts rules in force, as YAML, and the closed lists of the settings; none are at first. */
  rules(text: string, lists?: ClosedLists): Promise<void>
  /** Folders that exist in the data directory, for reindex. */
  folders: Set<string>
  /** Calls `cstp.<name>`, by default as alice; the result was checked against its schema. @throws CstpError */
  call<N extends MethodName>(name: N, params?: object, as?: As): Promise<Result<N>>
  /** The error that the call ends with. @throws when it succeeds */
  refused(name: MethodName, params?: unknown, as?: As): Promise<CstpError>
  /** Records a decision with these fields beside the required ones; returns its id. */
  record(given?: Record<string, unknown>, as?: As): Promise<string>
  /** A second server on the same data, with its own index. */
  second(): Promise<TestProgram>
  close(): Promise<void>
}

/** Opens a store; called again with the same `dir`, one on the same data. */
interface Backend {
  name: string
  open(options: StoreOptions, dir: string): Promise<Store>
  evidence(dir: string): Promise<Evidence>
  /** What a new directory begins with. */
  start?(dir: string): Promise<void>
}

/** Read once: a suite opens some thousand programs. */
const controls = loadControls()

const memories = new Map<string, Store>()
const chains = new Map<string, Evidence>()

/** Two servers on one memory have one chain; it is closed with its directory. */
async function memoryEvidence(dir: string): Promise<Evidence> {
  const evidence = chains.get(dir) ?? openMemoryEvidence()
  chains.set(dir, evidence)
  return { ...evidence, close: async () => {} }
}

const schemas = new Map<string, Promise<string>>()

/** A schema for each directory; the server is started with the first. */
function schemaOf(dir: string): Promise<string> {
  const known = schemas.get(dir) ?? emptySchema(postgres()!)
  schemas.set(dir, known)
  return known
}

const databases = ['cstp.db', 'provenance.db']
let made: Promise<Buffer[]> | undefined

/** The databases as the drivers of SQLite make them: making them waits for the disk longer than most tests take. */
function emptyDatabases(): Promise<Buffer[]> {
  made ??= inTemporaryDir(async (dir) => {
    const store = await openSqliteStore({ analyse, now: () => testStart, dir })
    const evidence = await openSqliteEvidence(join(dir, 'provenance.db'))
    await Promise.all([store.close(), evidence.close()])
    return Promise.all(databases.map((name) => readFile(join(dir, name))))
  })
  return made
}

/** Every store on which the methods must behave alike. */
const backends: Backend[] = [
  {
    name: 'memory',
    async open(options, dir) {
      // Two servers on one memory are one store; it is closed with its directory.
      const store = memories.get(dir) ?? openMemoryStore(options)
      memories.set(dir, store)
      return { ...store, close: async () => {} }
    },
    evidence: memoryEvidence,
  },
  {
    name: 'sqlite',
    open: (options, dir) => openSqliteStore({ ...options, dir }),
    evidence: (dir) => openSqliteEvidence(join(dir, 'provenance.db')),
    async start(dir) {
      const empty = await emptyDatabases()
      await Promise.all(databases.map((name, at) => writeFile(join(dir, name), empty[at]!, { mode: 0o600 })))
    },
  },
  {
    name: 'postgres',
    open: async (options, dir) => openPostgresStore({ ...options, url: await schemaOf(dir), connections: 4 }),
    evidence: async (dir) => openPostgresEvidence({ url: await schemaOf(dir), connections: 2 }),
  },
]

/** The hash embedder, as healthy as a test wants it. */
async function switchableEmbedder(state: { health: Health; id: string }): Promise<Embedder> {
  const inner = await openHashEmbedder()
  state.id = inner.id
  return {
    ...inner,
    get id() {
      return state.id
    },
    async embed(texts, kind, signal) {
      if (state.health === 'away')
        throw new StorageError('unavailable', 'the provider at http://embed.secret is unavailable')
      if (state.health === 'up') return inner.embed(texts, kind, signal)
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    },
  }
}

/** A policy of one file. @throws with all that is wrong */
async function policyOf(text: string, lists = openLists): Promise<PolicySet> {
  const files = [...closedLists(lists), { name: 'test.yaml', text }]
  const { set, errors } = await buildPolicy(files, async () => null)
  if (!set) throw new Error(JSON.stringify(errors, null, 2))
  return set
}

async function openOn(backend: Backend, dir: string, clock: { now: number }): Promise<TestProgram> {
  const state: { health: Health; id: string } = { health: 'up', id: '' }
  const folders = new Set<string>()
  const now = () => clock.now
  const embedder = await switchableEmbedder(state)
  const randomHex = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')
  const store = threaded(await backend.open({ analyse, now }, dir), { now, randomHex }, () => {})
  const evidence = await backend.evidence(dir)
  const log = Object.assign(() => {}, { flush() {} })
  const index = await openIndexSync({
    store,
    search: openMemorySearch(),
    log,
    yieldToEventLoop: async () => {},
  })
  // The outbox works when a test drains it, not on its own.
  const outbox = startOutbox({ store, embedder, now, after: () => () => {}, failed: () => {} })
  const tracker_ttl_ms = 120 * 60_000
  const tracker = startTracker({
    store,
    now,
    newId: () => crypto.randomUUID(),
    ttl_ms: tracker_ttl_ms,
    after: (ms, run) => {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    failed: () => {},
  })
  // It gives places when a test asks for them, not on its own.
  const thread = openThread({
    ...{ store, evidence, now, randomHex },
    signer: threadSigner(testSigner.name, testKey),
    after: () => () => {},
    failed: () => {},
  })
  const policy = { set: await policyOf('') }
  const services: Services = {
    wisdom: openWisdom(store, openPhrases(embedder)),
    tracker,
    tracker_ttl_ms,
    policy: {
      current: async () => policy.set,
      reload: async () => [],
      errors: () => [],
      draft: compileDraft,
      // It has no folder of rules.
      add: async () => ({ file: null, errors: [] }),
    },
    approvalContext: {
      now,
      randomHex,
      approvalUrl: (id) => `http://cstp.test/dashboard/approvals/${id}`,
      pageUrl: (path) => `http://cstp.test/dashboard/${path}`,
      notifies: new Set(['approvals']),
    },
    roles: { 'release-managers': ['carol'] },
    secrets: 'reject',
    retention: [],
    sourceMark: sourceMarks(Buffer.from('secret of the tests')),
    record_guardrails: 'warn',
    attribution: { min_stability_days: 3, by_age: false },
    agent_bytes_per_day: 1_073_741_824,
    elapsed: () => performance.now(),
    store,
    evidence,
    controls,
    bundles: openBundleFiles(resolve(tmpdir(), dir, 'bundles')),
    openPrinter,
    service_version: '0.0.0-test',
    yieldToEventLoop: async () => {},
    signer: testSigner,
    checkpoints: createCheckpoints({ evidence, signer: testSigner, now }),
    chain: openChain({ evidence, now, yieldToEventLoop: async () => {} }),
    thread,
    publisher: publishAlone(thread, now),
    index,
    embedder,
    outbox,
    log,
    judged() {},
    ranAstray() {},
    now,
    randomHex,
    embed_wait_ms: 30,
    folderInside: async (path) => (folders.has(path) ? path : null),
    reindexProgress: () => {},
  }
  const dispatch = createDispatch(methods, services, () => {}, { verify_results: true })
  const { signal } = new AbortController()
  let requests = 0
  const send = async (name: string, params: unknown, as: As) => {
    const request = { method: `cstp.${name}`, params, caller: callers[as], request_id: `r${requests++}`, signal }
    return dispatch(request)
  }
  const program: TestProgram = {
    services,
    dispatch,
    store,
    clock,
    embedder: state,
    folders,
    async rules(text, lists) {
      policy.set = await policyOf(text, lists)
      await enact(store, policy.set, now())
    },
    call: (name, params = {}, as = 'alice') => send(name, params, as) as Promise<Result<typeof name>>,
    refused: (name, params = {}, as = 'alice') =>
      send(name, params, as).then(
        (result) => {
          throw new Error(`${name} was not refused: ${JSON.stringify(result)}`)
        },
        (error: CstpError) => error,
      ),
    record: async (given = {}, as = 'alice') =>
      (
        await program.call(
          'recordDecision',
          { decision: 'Use SQLite', confidence: 0.8, category: 'architecture', ...given },
          as,
        )
      ).decision_id,
    second: () => openOn(backend, dir, clock),
    async close() {
      for (const one of [tracker, outbox, index, embedder, evidence, store]) await one.close()
    },
  }
  return program
}

/** One on the memory store, for suites that share it; they close it. */
export const openMemoryProgram = (): Promise<TestProgram> =>
  openOn(backends[0]!, crypto.randomUUID(), { now: testStart })

/** One on the memory store, for what does not depend on the store. It is closed after the test. */
export const memoryProgram = async (): Promise<TestProgram> => atEnd(await openMemoryProgram(), ({ close }) => close())

/** One on the SQLite store of a directory. The test closes it. */
export const openSqliteProgram = (dir: string): Promise<TestProgram> => openOn(backends[1]!, dir, { now: testStart })

/** Opens a fresh program that is closed after the test. */
export type Open = () => Promise<TestProgram>

/**
 * Declares the suite on SQLite: the conformance suite of the store port shows that the stores are equal. `CSTP_TEST_STORES` names
 * others, separated by commas; the soak runs it on all.
 */
export function forEachBackend(suite: (open: Open, store: string) => void): void {
  const wanted = process.env.CSTP_TEST_STORES?.split(',') ?? (process.env.CSTP_SOAK ? undefined : ['sqlite'])
  for (const backend of backends.filter(({ name }) => wanted?.includes(name) ?? true)) {
    describe(`on ${backend.name}`, () => {
      if (backend.name === 'postgres' && postgres() === null) {
        test.skip(whyNoPostgres, () => {})
        return
      }
      const opened: { program: TestProgram; dir: string }[] = []
      afterEach(async () => {
        const over = opened.splice(0)
        for (const { program } of over) await program.close()
        for (const { dir } of over) {
          memories.delete(dir)
          chains.delete(dir)
          const schema = await schemas.get(dir)
          if (schema) laidBack(schema)
          schemas.delete(dir)
          await rm(dir, { recursive: true, force: true })
        }
      })
      suite(async () => {
        const dir = await mkdtemp(join(tmpdir(), 'cstp-methods-'))
        await backend.start?.(dir)
        const program = await openOn(backend, dir, { now: testStart })
        const { second } = program
        program.second = async () => {
          const other = await second()
          opened.unshift({ program: other, dir })
          return other
        }
        opened.push({ program, dir })
        return program
      }, backend.name)
    })
  }
}
