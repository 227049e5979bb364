/** LanceDB on an object store that refuses, or goes away and comes back. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { fields, idOf, random, unitVector } from '../../../sdk/storage/conformance/vectors/corpus.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { openLanceVectors } from '../../../src/drivers/vectors/lancedb/driver.ts'
import { serveS3 } from '../../support/s3-server.ts'

setDefaultTimeout(120_000)

const s3 = serveS3()
afterAll(() => s3.close())
const dimensions = 16
const generation = { number: 1, embedder: 'test:1', dimensions }
const next = random(7)
const one = (number: number) => {
  const vector = unitVector(next, dimensions)
  return {
    id: idOf(number),
    value: { fields: fields(idOf(number), next), vectors: { structure: vector, function: vector, both: vector } },
  }
}
// Quick to give up, so that the test is; an operator may set the same.
const options = { ...s3.storage_options, client_max_retries: '1', client_retry_timeout: '2' }
const open = async (storage_options: Record<string, string>) => {
  const vectors = await openLanceVectors({ url: 's3://bucket/place', storage_options })
  return { vectors, index: await vectors.open(generation) }
}

/** All that an error says, its causes too. */
function said(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return `${error.message} ${JSON.stringify(error)} ${error.cause === undefined ? '' : said(error.cause)}`
}
const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!isStorageError(error)) throw error
  return error
}

test('wrong credentials are said so, and not repeated', async () => {
  s3.fail({ status: 403, code: 'InvalidAccessKeyId' })
  const wrong = { ...options, access_key_id: 'who', secret_access_key: 'h0rse-battery' }
  const error = await refusal(open(wrong))
  s3.fail(null)
  expect(error.kind).toBe('unavailable')
  expect(said(error)).toMatch(/403|InvalidAccessKeyId|Forbidden|denied/i)
  expect(said(error)).not.toContain('h0rse')
})

test('a bucket that goes away fails calls, and serves the same index when it is back', async () => {
  const { vectors, index } = await open(options)
  await index.apply([one(1), one(2)], 2)
  s3.fail({ status: 503, code: 'SlowDown' })
  const query = { vector: unitVector(next, dimensions), side: 'both', k: 5, filter: {} } as const
  for (const work of [() => index.apply([one(3)], 3), () => index.nearest(query)]) {
    const error = await refusal(work())
    expect(error.kind).toBe('unavailable')
    expect(said(error)).not.toContain('test-secret')
  }
  s3.fail(null)
  await index.apply([one(3)], 3)
  expect([await index.count(), await index.watermark()]).toEqual([3, 3])
  expect(await index.nearest(query)).toHaveLength(3)
  await vectors.close()
})
