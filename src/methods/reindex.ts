/** cstp.reindex: rebuilds all embeddings while the old ones stay in use. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { pathOf } from '../domain/record/decision/decision.ts'
import { reindex as rebuild } from '../domain/search/reindex.ts'

const d = v.description

export const reindex = defineMethod({
  summary:
    'Reloads the YAML files and rebuilds the vectors of all decisions; the old vectors are used until the new ones are complete.',
  params: v.object({
    decisions_path: v.optional(
      v.pipe(
        nonEmptyText(4_096),
        d('Folder inside the data directory: only decisions below it are rebuilt, in place.'),
      ),
    ),
  }),
  result: v.object({
    success: v.pipe(v.boolean(), d('Whether there were no errors.')),
    decisions_indexed: v.number(),
    errors: v.pipe(v.number(), d('Decisions that failed (retried in the background), and invalid files.')),
    duration_ms: v.number(),
    findings: v.pipe(
      v.array(
        v.object({
          path: v.string(),
          kind: v.picklist(['added', 'changed', 'deleted', 'broken', 'newer']),
          message: v.string(),
        }),
      ),
      d('Files that were added, changed, deleted, invalid, or written by a newer program.'),
    ),
  }),
  scope: 'admin',
  effect: 'write',
  cost: 32,
  async handle(call, { decisions_path }) {
    const start = call.now()
    let below: string | null = null
    if (decisions_path !== undefined) {
      below = await call.folderInside(decisions_path)
      if (below === null) {
        throw invalidParam('decisions_path', 'a folder that exists inside the data directory', decisions_path)
      }
    }
    const findings = await call.store.reconcile()
    const isBelow = (path: string) => below === null || below === '' || path.startsWith(`${below}/`)
    const only = below === null ? null : (id: string) => isBelow(pathOf(id))
    const broken = findings.filter(
      ({ kind, path }) => (kind === 'broken' || kind === 'newer') && isBelow(`decisions/${path}`),
    ).length
    const rebuilt = await rebuild({ ...call, progress: call.reindexProgress }, only)
    const { decisions_indexed } = rebuilt
    const errors = rebuilt.errors + broken
    await call.store.transaction((tx) => audit(call, tx, [], { decisions_indexed, errors }))
    return { success: errors === 0, decisions_indexed, errors, duration_ms: call.now() - start, findings }
  },
})
