/** Finds the one decision that an id, or the beginning of one, means. */
import { decisionNotFound, invalidParams } from '../../sdk/errors.ts'
import type { DecisionReader } from '../../sdk/storage/store.ts'

const fullForm = /^\d{4}-\d{2}-\d{2}-decision-[0-9a-f]{12}$/
const shownCandidates = 10

/**
 * The full id behind a full id, a unique prefix of one, or a unique prefix of 8 or more of its hexadecimal part.
 * @throws CstpError `decision_not_found`, or `invalid_params` for a prefix that is too short or means several (`data.candidates`)
 */
export async function resolveId(
  decisions: Pick<DecisionReader, 'findIds' | 'get'>,
  given: string,
  path: string,
): Promise<string> {
  if (fullForm.test(given)) return given
  const bare = /^[0-9a-f]+$/.test(given)
  if (given.length < 8) {
    throw invalidParams({
      path,
      message: 'a prefix needs at least 8 characters',
      expected: 'a decision id or a prefix of 8 or more characters',
      received: given,
    })
  }
  const candidates = (await decisions.findIds(given, shownCandidates + 1)).filter((id) => bare || id.startsWith(given))
  // Records that were put there by hand may have an id of another form, which may begin another's.
  if (candidates.length === 1 || candidates[0] === given) return candidates[0]!
  if (candidates.length === 0) throw decisionNotFound(given)
  const shown = candidates.slice(0, shownCandidates)
  const message = `the prefix ${given} means ${candidates.length > shownCandidates ? 'more than 10' : candidates.length} decisions`
  throw invalidParams({ path, message, expected: 'a unique prefix', received: given }, { candidates: shown })
}
