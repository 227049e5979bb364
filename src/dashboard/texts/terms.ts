/** Definitions of the technical terms of the dashboard. */
export const terms = {
  accuracy:
    'Mean outcome of reviewed decisions: a success counts 1, a partial success 0.5, a failure 0. Abandoned decisions do not count.',
  brier:
    'Mean squared distance between the stated confidence and the outcome. 0 is perfect; always stating 50 % gives 0.25; higher is worse.',
  gap: 'Accuracy minus mean confidence. Below zero the agent is overconfident; above zero it is underconfident.',
  verdict:
    'The worst that is proven of all decisions, or of an agent, category or stakes: 95 % confidence for all of them together. A gap that chance explains is not proven.',
  confidence: 'The probability that the agent gave for a good outcome, from 0 to 100 %.',
  stakes: 'What was at risk, as the agent stated it.',
  ece: 'Expected calibration error: the mean distance between the confidence of a group and its accuracy. 0 is best.',
  floor:
    'The error that a perfectly calibrated agent would show by chance alone with this number of decisions. A smaller error is not significant.',
  reliability: 'Part of the Brier score: the distance between stated confidence and outcomes. 0 is best.',
  resolution: 'Part of the Brier score: how well the confidence separates successes from failures. Higher is better.',
  uncertainty: 'Part of the Brier score that no agent can change: the variance of the outcomes.',
  skill: 'Improvement over always stating the mean outcome. Above 0 the stated confidence is informative.',
  log: 'Mean logarithmic loss. 0 is best; wrong decisions of high confidence cost most.',
  wilson:
    'Wilson interval: the range that holds the true share of successes with 95 % confidence, given the number of decisions.',
  distance: 'Cosine distance in meaning from the question: 0 is the same, 1 is unrelated.',
  semantic: 'Similarity in meaning, from 0 to 1: one minus the distance.',
  keyword: 'Keyword score from 0 to 1: BM25 as a share of what the question could score, beside that of the best hit.',
  combined:
    'The order of hits in hybrid mode: the weighted mean of both scores. The more of the question the best hit explains, the more words weigh.',
  pvalue: 'The probability of a change this large by chance alone. Below 0.05 the change counts as real.',
  observed: 'Reported by another system, such as GitHub, not by the agent.',
  attested: 'Reported by an agent about itself: as reliable as the agent.',
  breaker: 'Blocks actions of its scope after too many failures, until its cooldown is over and one trial succeeds.',
  quality: 'How complete the record is: reasons, tags, context, a pattern, deliberation.',
  bridge: 'Two descriptions of the decision: what it looks like, and what it is for. Search by meaning compares both.',
  checkpoint:
    'A signed statement of the size and root hash of the log. Anyone who keeps it can prove later whether the log was changed.',
  proof: 'The hashes from one event to the signed root. Anyone can recompute them without trusting this service.',
} as const

export type TermName = keyof typeof terms
