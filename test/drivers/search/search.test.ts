/** Every search driver keeps the port. */
import { describe, test } from 'bun:test'
import { testSearch } from '../../../sdk/storage/conformance/search.ts'
import { openResidentSearch } from '../../support/resident.ts'

const runner = { describe, test }

testSearch(runner, { name: 'resident', open: async () => openResidentSearch() })
testSearch(runner, { name: 'resident (worker)', open: async () => openResidentSearch({ worker_from: 0 }) })
