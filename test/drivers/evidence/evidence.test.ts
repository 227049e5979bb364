/** The evidence drivers keep the port's promises. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { evidenceConformance } from '../../../sdk/storage/conformance/evidence.ts'
import { openPostgresEvidence } from '../../../src/drivers/evidence/postgres/driver.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'
import { postgres, whyNoPostgres } from '../../support/postgres.ts'
import { emptySchema, laidBack } from '../../support/schemas.ts'

setDefaultTimeout(120_000)

const dir = mkdtempSync(join(tmpdir(), 'cstp-evidence-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
let opened = 0

evidenceConformance('sqlite', { describe, test, expect }, () => openSqliteEvidence(join(dir, `${opened++}.db`)))

const server = postgres()
if (server === null) test.skip(`evidence: postgres (${whyNoPostgres})`, () => {})
else
  evidenceConformance('postgres', { describe, test, expect }, async () => {
    const url = await emptySchema(server)
    const evidence = await openPostgresEvidence({ url })
    return { ...evidence, close: () => evidence.close().finally(() => laidBack(url)) }
  })
