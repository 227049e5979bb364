/** What is exported and imported again is scored as it was: as JSON Lines, from the decision files, and as architecture decision records. */
import { expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { writeYaml } from '../../src/app/yaml-export.ts'
import { readAdrFolder } from '../../src/cli/adr/folder.ts'
import { madrOf } from '../../src/cli/adr/write.ts'
import { importLine } from '../../src/cli/export-line.ts'
import { type Line, planLine } from '../../src/cli/import-lines.ts'
import { yamlLines } from '../../src/cli/import-yaml.ts'
import { scopes } from '../../src/core/caller.ts'
import { settingsOf, withProgram } from '../support/opened.ts'
import { inTemporaryDir } from '../support/process.ts'
import * as fc from '../support/property.ts'

const stated = fc.option(fc.constantFrom(0, 0.05, 0.5, 0.95, 1))
const caller = { agent: 'root', scopes: new Set(scopes) }

/** The values of an import, from each form of export. */
async function exportsOf(dir: string, record: DecisionRecord): Promise<Record<string, object>> {
  const [adr, yaml] = [join(dir, 'adr'), join(dir, 'yaml')]
  await rm(yaml, { recursive: true, force: true })
  await mkdir(adr, { recursive: true })
  const places = { named: new Map(), sources: new Map(), supersededBy: new Map() }
  await writeFile(join(adr, 'one.md'), madrOf(record, places))
  await writeYaml(yaml, [record])
  const { lines } = await readAdrFolder(adr, { trust_scores: true })
  const valueIn = ([line]: Line[]) => (line && 'value' in line ? (line.value as object) : {})
  const line = JSON.parse(JSON.stringify(importLine(record, new Map())))
  return { line, adr: valueIn(lines), yaml: valueIn(await yamlLines(yaml)) }
}

test('a confidence that was changed since is kept beside the one that is scored', () =>
  inTemporaryDir(async (dir) =>
    withProgram(await settingsOf(dir), async ({ dispatch }) => {
      const call = (method: string, params: unknown) =>
        dispatch({
          method: `cstp.${method}`,
          params,
          caller,
          request_id: 'r',
          signal: new AbortController().signal,
        }) as Promise<Record<string, unknown>>
      let number = 0
      await fc.assert(
        fc.asyncProperty(stated, stated, async (confidence, confidence_at_record) => {
          const record = { ...recordOf(1), confidence, confidence_at_record, source_key: `key-${number++}`, links: [] }
          for (const [form, value] of Object.entries(await exportsOf(join(dir, 'out'), record))) {
            const { record: params } = planLine({ ...value, source: `${form}-${number}` })
            const { decision_id } = await call('recordDecision', params)
            expect(await call('getDecision', { id: decision_id })).toMatchObject({ confidence, confidence_at_record })
          }
        }),
        { numRuns: 25 },
      )
    }),
  ))
