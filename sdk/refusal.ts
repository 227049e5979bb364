/** Why an action is not allowed, in a sentence for the model or person that asked. */
import type { Violation } from './client.gen.ts'

/** Each rule with its message and what would allow the action. */
export const refusalOf = (violations: readonly Violation[]): string =>
  violations
    .map(
      ({ guardrail_id, message, suggestion }) =>
        `${guardrail_id}: ${message}${suggestion === null ? '' : `. What would allow it: ${suggestion}`}`,
    )
    .join('; ')
