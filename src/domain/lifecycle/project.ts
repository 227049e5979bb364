/** Changes of a decision's project after it was recorded: a decision comes before its pull request. */
import { CstpError } from '../../../sdk/errors.ts'
import type { DecisionRecord, Project } from '../../../sdk/schema/decision.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { type Caller, mayCurate } from '../../core/caller.ts'
import { pullRequestHistory } from './pull-request.ts'

/** An update of the project; members that are left out stay. */
export type ProjectUpdate = { [K in 'name' | 'feature' | 'pr']?: Project[K] | undefined }

const bare: Project = { name: null, feature: null, pr: null, files: [] }

/** The project after the update. */
export function withProject({ project }: DecisionRecord, { name, feature, pr }: ProjectUpdate): Project {
  const before = project ?? bare
  return {
    ...before,
    ...(name !== undefined && { name }),
    ...(feature !== undefined && { feature }),
    ...(pr !== undefined && { pr }),
  }
}

const fixed = ['name', 'pr'] as const

/**
 * Evidence settles a decision by its project and pull request, so an agent can name each only once and can't pick another outcome later.
 * @throws CstpError `forbidden`
 */
export function requireFirst({ project }: DecisionRecord, given: ProjectUpdate, caller: Caller): void {
  const before = project ?? bare
  for (const field of fixed) {
    const known = before[field]
    if (known === null || given[field] === undefined || given[field] === known || mayCurate(caller)) continue
    const message = `project.${field} is ${JSON.stringify(known)} already: only the scopes curate and admin may change it`
    throw new CstpError('forbidden', message, { scope: 'curate' })
  }
}

/** An agent can't name a pull request whose outcome is known already. @throws CstpError `forbidden` */
export async function requireUnmerged(
  evidence: Evidence,
  record: DecisionRecord,
  given: ProjectUpdate,
  caller: Caller,
): Promise<void> {
  const before = record.project ?? bare
  const { name, pr } = withProject(record, given)
  if (name === null || pr === null || (name === before.name && pr === before.pr) || mayCurate(caller)) return
  const history = await pullRequestHistory(evidence, name, pr)
  if (history?.merged_at == null) return
  const message = `Pull request ${pr} of ${name} is merged already: it settles the decision only if linkEvidence links its events`
  throw new CstpError('forbidden', message, { scope: 'evidence' })
}
