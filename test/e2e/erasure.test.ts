/** An erased decision leaves no text behind: not in a file, not in a dump of the database, not in an answer. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { holding, tellAll, word } from '../support/erasure.ts'

setDefaultTimeout(120_000)

const ground = { basis: 'GDPR Art. 17', reason: 'asked for by the person' }

test('what was told in every way is in no file after its erasure', async () => {
  const { server, ids, close } = await tellAll()
  const { call, dir } = server
  expect(holding(dir, word).length).toBeGreaterThan(2)
  for (const id of [ids.recorded, ids.observed]) {
    const dry = await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')
    expect(dry).toMatchObject({ erased: false, redaction_record_id: null })
    const answer = await call('eraseDecision', { id, ...ground }, 'root')
    expect(answer).toMatchObject({ erased: true, pending: [] })
  }
  expect(holding(dir, word)).toEqual([])
  await close()
})
