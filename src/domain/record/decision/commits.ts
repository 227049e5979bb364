/** Commits that a hook saw an agent make: they tie its decision to the pull request that contains them according to the evidence. */
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'

/** Commit hashes, abbreviated if they were printed so, by the id of their decision. */
export const commitCollection = 'hook_commit'

/** The author of an update that names a pull request by a commit. No agent's name contains a colon. */
export const namedByCommit = 'evidence:commit'

/** Stores the commits of a decision, if there are any. */
export async function keepCommits(
  { keyed }: Pick<Transaction, 'keyed'>,
  id: string,
  commits: readonly string[],
): Promise<void> {
  if (commits.length > 0) await keyed.put(commitCollection, id, commits)
}

/** The commits of these decisions by id, without decisions that have none. */
export async function keptCommits(
  keyed: Pick<KeyedReader, 'get'>,
  ids: readonly string[],
): Promise<Map<string, readonly string[]>> {
  if (ids.length === 0) return new Map()
  const found = await keyed.get(commitCollection, ids)
  return new Map(found.map(({ key, value }) => [key, value as string[]]))
}

const page = 500

/** What an observed event says about a commit. */
interface Naming {
  sha?: unknown
  merge_commit_sha?: unknown
  pr_number?: unknown
  distinct?: unknown
}

/** Every record about commits whose hashes begin with `commit`. */
export async function recordsOfCommit(evidence: Pick<Evidence, 'ofCommit'>, commit: string): Promise<EvidenceRecord[]> {
  const found: EvidenceRecord[] = []
  for (let seq = 1; ; ) {
    const records = await evidence.ofCommit(commit, seq, page)
    found.push(...records)
    if (records.length < page) return found
    seq = records.at(-1)!.seq + 1
  }
}

/** What the observed events of a repository say about commits whose hashes begin with `commit`. */
async function namingsOf(evidence: Pick<Evidence, 'ofCommit'>, project: string, commit: string): Promise<Naming[]> {
  return (await recordsOfCommit(evidence, commit)).flatMap(({ evidence_class, payload }) => {
    if (evidence_class !== 'observed') return []
    const { repo, ...naming } = JSON.parse(payload) as Naming & { repo?: unknown }
    return repo === project ? [naming] : []
  })
}

/**
 * The pull request of a project that contains these commits; null if no observed event names one of them, or if they belong to several.
 * An abbreviated hash counts only if exactly one commit of the repository matches it.
 */
export async function pullRequestOf(
  evidence: Pick<Evidence, 'ofCommit'>,
  project: string,
  commits: readonly string[],
): Promise<number | null> {
  const pulls = new Set<number>()
  for (const commit of commits) {
    const namings = await namingsOf(evidence, project, commit)
    const hashes = namings.flatMap(({ sha, merge_commit_sha }) => [sha, merge_commit_sha])
    if (new Set(hashes.filter((one) => typeof one === 'string' && one.startsWith(commit))).size !== 1) continue
    for (const { pr_number: pr, distinct } of namings) {
      // A branch into which another branch is merged gets the other's commits, which don't belong to this pull request.
      if (distinct !== false && typeof pr === 'number' && Number.isSafeInteger(pr) && pr > 0) pulls.add(pr)
    }
  }
  const [pull] = pulls
  return pull === undefined || pulls.size > 1 ? null : pull
}
