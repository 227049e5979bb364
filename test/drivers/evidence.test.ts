/** The evidence drivers keep the port's promises. */
import { describe, expect, test } from 'bun:test'
import { evidenceConformance } from '../../sdk/storage/conformance/evidence.ts'
import { openMemoryEvidence } from '../../src/drivers/evidence/memory.ts'

evidenceConformance('memory', { describe, test, expect }, async () => openMemoryEvidence())
