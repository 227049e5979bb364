/** The evidence drivers keep the port's promises. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { evidenceConformance } from '../../sdk/storage/conformance/evidence.ts'
import { openMemoryEvidence } from '../../src/drivers/evidence/memory.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite.ts'

const dir = mkdtempSync(join(tmpdir(), 'cstp-evidence-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
let opened = 0

evidenceConformance('memory', { describe, test, expect }, async () => openMemoryEvidence())
evidenceConformance('sqlite', { describe, test, expect }, () => openSqliteEvidence(join(dir, `${opened++}.db`)))
