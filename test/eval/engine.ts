/** The engine with everything in memory and the real local model: what is measured is the ranking, through the methods themselves. */
import { generateKeyPairSync } from 'node:crypto'
import { openMemoryEvidence } from '../../docs/examples/driver/evidence.ts'
import { openMemoryStore } from '../../docs/examples/driver/store.ts'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { openBundleFiles } from '../../src/app/folders.ts'
import { openPrinter } from '../../src/app/printer.ts'
import { createDispatch } from '../../src/calls/dispatch.ts'
import { createLog } from '../../src/core/log.ts'
import { openPhrases } from '../../src/domain/learn/memory/clusters.ts'
import { openWisdom } from '../../src/domain/learn/memory/wisdom.ts'
import { createCheckpoints } from '../../src/domain/ledger/engine/checkpoints.ts'
import { signerOf } from '../../src/domain/ledger/engine/note.ts'
import { openChain } from '../../src/domain/ledger/evidence/chain.ts'
import { publishAlone } from '../../src/domain/ledger/thread/receipts.ts'
import { openThread } from '../../src/domain/ledger/thread/sequencer.ts'
import { startTracker } from '../../src/domain/record/deliberation/tracker.ts'
import { openIndexSync } from '../../src/domain/search/index-sync.ts'
import { startOutbox } from '../../src/domain/search/outbox.ts'
import { analyse } from '../../src/domain/search/terms.ts'
import { openLocalEmbedder } from '../../src/drivers/embedder/local/driver.ts'
import { methods } from '../../src/methods/table.ts'
import { compileDraft, loadControls } from '../../src/policy/files.ts'
import { openMemorySearch } from '../support/search.ts'

export interface Engine {
  /** Calls `cstp.<method>` with all scopes. */
  call(method: string, params: unknown): Promise<unknown>
  /** Embeds what reviews have changed. */
  settle(): Promise<void>
  close(): Promise<void>
}

const noRules = { rules: [], breakers: [], hash: '', keeps_sessions: false }

/** @param shared an embedder that stays open when the engine closes */
export async function openEngine(shared?: Embedder): Promise<Engine> {
  const now = Date.now
  const log = createLog({ level: 'warn', pretty: true, write: (text) => process.stderr.write(text), now })
  const store = openMemoryStore({ analyse, now })
  const embedder = shared ?? (await openLocalEmbedder())
  const index = await openIndexSync({
    store,
    search: openMemorySearch(),
    log,
    yieldToEventLoop: () => Bun.sleep(0),
  })
  const outbox = startOutbox({ store, embedder, now, after: () => () => {}, failed: () => {} })
  const tracker_ttl_ms = 60_000
  // Inputs are dropped with the session's end; the ranking takes none of them.
  const tracker = startTracker({
    store,
    now,
    newId: () => '',
    ttl_ms: tracker_ttl_ms,
    after: () => () => {},
    failed: () => {},
  })
  const evidence = openMemoryEvidence()
  const signer = signerOf('cstp.test/eval', generateKeyPairSync('ed25519').privateKey)
  // The ranking needs no proofs: nothing is appended to this ledger.
  const thread = openThread({
    ...{ store, evidence, signer, now },
    randomHex: () => '',
    after: () => () => {},
    failed: () => {},
  })
  let ids = 0
  const dispatch = createDispatch(
    methods,
    {
      wisdom: openWisdom(store, openPhrases(embedder)),
      tracker,
      tracker_ttl_ms,
      judged() {},
      ranAstray() {},
      policy: {
        current: async () => noRules,
        reload: async () => [],
        errors: () => [],
        draft: compileDraft,
        add: async () => ({ file: null, errors: [] }),
      },
      approvalContext: {
        now,
        randomHex: () => '',
        approvalUrl: (id) => id,
        pageUrl: (path) => path,
        notifies: new Set(),
      },
      roles: {},
      secrets: 'reject',
      sourceMark: (key) => key,
      retention: [],
      record_guardrails: 'off',
      attribution: { min_stability_days: 3, by_age: false },
      agent_bytes_per_day: 0,
      elapsed: () => performance.now(),
      controls: loadControls(),
      bundles: openBundleFiles('/nowhere'),
      openPrinter,
      service_version: '0.0.0-test',
      yieldToEventLoop: () => Bun.sleep(0),
      evidence,
      signer,
      checkpoints: createCheckpoints({ evidence, signer, now }),
      chain: openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {} }),
      store,
      thread,
      publisher: publishAlone(thread, now),
      index,
      embedder,
      outbox,
      log,
      now,
      // Counted instead of random: the same ids in every run, so that ties break alike.
      randomHex: (bytes) => (ids++).toString(16).padStart(2 * bytes, '0'),
      embed_wait_ms: 60_000,
      folderInside: async () => null,
      reindexProgress: () => {},
    },
    () => {},
    { verify_results: true },
  )
  const caller = { agent: 'eval', scopes: new Set(['read', 'write', 'admin'] as const) }
  const { signal } = new AbortController()
  return {
    call: (method, params) => dispatch({ method: `cstp.${method}`, params, caller, request_id: 'eval', signal }),
    settle: async () => void (await outbox.drain()),
    async close() {
      for (const one of [tracker, outbox, index, ...(shared ? [] : [embedder]), store]) await one.close()
    },
  }
}
