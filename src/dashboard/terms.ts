/** What the words of the trade mean, for a reader who has never heard of them. */
export const terms = {
  accuracy:
    'Share of reviewed decisions that turned out well: a success counts 1, a partial success a half, a failure 0. Abandoned ones do not count.',
  brier:
    'Mean squared distance between the stated confidence and what came true. 0 is perfect; always saying 50 % gives 0.25; higher is worse.',
  gap: 'Accuracy less mean confidence. Below zero the agent is surer than it should be; above zero it could be surer.',
  confidence: 'How sure the agent said it was that the decision would turn out well, from 0 to 100 %.',
  stakes: 'What was at risk, as the agent stated it.',
  ece: 'Expected calibration error: how far the confidence in each group lies from the share that came true, on average. 0 is best.',
  floor:
    'The error that a perfectly calibrated agent would show by chance alone with so few decisions. Below it, nothing is proven.',
  reliability: 'Part of the Brier score: how far stated confidences lie from results. 0 is best.',
  resolution: 'Part of the Brier score: how well the confidences tell successes from failures. Higher is better.',
  uncertainty: 'Part of the Brier score that no agent can change: how mixed the results are.',
  skill: 'Improvement on always stating the average result. Above 0 the stated confidence is worth something.',
  log: 'Mean surprise at what came true. 0 is best; being sure and wrong costs most.',
  wilson:
    'Range in which the true share of successes lies with 95 % certainty, given how few were counted (Wilson interval).',
  distance: 'How far the meaning lies from the question: 0 is the same, 1 has nothing to do with it (cosine distance).',
  semantic: 'Closeness in meaning, from 0 to 1: one less the distance.',
  keyword:
    'How much of the question’s words the decision holds, from 0 to 1 (BM25 over the most that the question could score).',
  combined: 'What the hits are ordered by in hybrid mode: the weighted sum of the two.',
  pvalue: 'How often chance alone would show a change as large as this. Below 0.05 it is taken as real.',
  observed: 'Reported by another system, such as GitHub: the agent could not make it up.',
  attested: 'Said by an agent of itself: true only as far as the agent is.',
  breaker: 'Stops actions of its scope after too many failures, until it has cooled down and one trial succeeds.',
  quality: 'How much of what makes a record useful was given: reasons, tags, context, a pattern, deliberation.',
  bridge: 'The same decision seen twice: what it looks like, and what it is for. Search by meaning compares both.',
  checkpoint:
    'A signed statement of how long the log is and what its root hash is. Whoever keeps it can prove later that nothing was changed.',
  proof:
    'The hashes that lead from one event to the signed root. Anybody can recompute them without trusting this service.',
} as const

export type TermName = keyof typeof terms
