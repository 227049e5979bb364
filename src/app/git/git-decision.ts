/** A decision in the history of a repository. */
import type { DecidingKind } from '../../domain/record/decision/deciding-commit.ts'
import type { Commit } from './log.ts'

export interface GitDecision {
  commit: Commit
  kind: DecidingKind | 'reverted'
  title: string
  body: string
  type: string | null
  scope: string | null
  pr: number | null
  /** When it came into the history, with the merge of its pull request if there was one. */
  landed_ms: number
  /** The decision that took it back, and still does. */
  revertedBy: GitDecision | null
  /** Hashes of the decisions that it takes the place of, with the reason. */
  supersedes: Map<string, string>
}
