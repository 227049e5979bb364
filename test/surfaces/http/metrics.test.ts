/** Metrics: what is counted, under which labels. */
import { expect, test } from 'bun:test'
import { openMemoryEvidence } from '../../../docs/examples/driver/evidence.ts'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import { openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { queueVectors } from '../../../src/domain/search/embeddings.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { createMetrics } from '../../../src/surfaces/http/metrics.ts'
import { recordOf, testStart } from '../../support/record.ts'
import { openIndexOf } from '../../support/search.ts'

test('calls, embeddings, decisions and what is owed', async () => {
  const store = openMemoryStore({ analyse, now: () => testStart })
  await store.transaction(async (tx) => {
    const record = recordOf()
    await tx.decisions.put(record, 0)
    await queueVectors(tx, record.id, testStart)
  })
  const evidence = openMemoryEvidence()
  const chain = openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {} })
  const metrics = createMetrics('1.2.3', new Set(['cstp.getStats']))
  metrics.call('cstp.getStats', 0, 2)
  metrics.call('cstp.getStats', -32602, 2)
  metrics.call('x"} evil{', -32601, 2)
  metrics.call('another', -32601, 2)
  metrics.passed('files', 'refused')
  metrics.passed('files', 'succeeded', 20)
  metrics.embed('query', 3, 10, false)
  metrics.embed('document', 1, 10, true)
  metrics.reindex(4, 9)
  const index = await openIndexOf(store)
  const text = await metrics.render({ store, index, evidence, chain, pins: async () => [{ state: 'changed' }] })
  const value = (line: string) =>
    Number(
      text
        .split('\n')
        .find((one) => one.startsWith(`${line} `))
        ?.split(' ')
        .at(-1),
    )
  expect({
    ok: value('cstp_requests_total{method="cstp.getStats",code="0"}'),
    refused: value('cstp_requests_total{method="cstp.getStats",code="-32602"}'),
    unknown: value('cstp_requests_total{method="unknown",code="-32601"}'),
    fast: value('cstp_request_duration_seconds_bucket{le="0.0025",method="cstp.getStats"}'),
    not_made: value('cstp_gateway_calls_total{server="files",end="refused"}'),
    made: value('cstp_gateway_call_duration_seconds_count{server="files"}'),
    changed: value('cstp_gateway_tools_waiting{state="changed"}'),
    texts: value('cstp_embed_texts_total{kind="query"}'),
    failures: value('cstp_embed_failures_total{kind="document"}'),
    decisions: value('cstp_decisions'),
    outbox: value('cstp_outbox_depth'),
    done: value('cstp_reindex_decisions{of="done"}'),
    searched: value('cstp_search_index{part="decisions"}'),
    by_vector: value('cstp_search_index{part="indexed"}'),
    build: value('cstp_build_info{version="1.2.3"}'),
  }).toEqual({
    ok: 1,
    refused: 1,
    unknown: 2,
    fast: 2,
    not_made: 1,
    made: 1,
    changed: 1,
    texts: 3,
    failures: 1,
    decisions: 1,
    outbox: 1,
    done: 4,
    searched: 1,
    by_vector: 0,
    build: 1,
  })
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(text).not.toContain('evil')
  expect(metrics.content_type).toContain('text/plain')
})
