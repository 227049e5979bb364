/** The guardrail files, as a start would read them. */
import { checkRules } from '../../policy/check.ts'
import { type Check, error, reason, warning } from './finding.ts'

export const checkGuardrails: Check = {
  name: 'guardrails',
  async *run({ guardrails_paths }) {
    const mend = 'correct the file, then cstp guardrails check'
    try {
      const { errors, findings, rules } = await checkRules(guardrails_paths)
      for (const { file, line, column, message } of errors) yield error(`${file}:${line}:${column}: ${message}`, mend)
      for (const { file, line, message } of findings) yield warning(`${file}:${line}: ${message}`, mend)
      if (errors.length === 0 && rules === 0)
        yield warning(
          `there is no rule in ${guardrails_paths?.join(', ')}`,
          'unset GUARDRAILS_PATHS for the shipped rules',
        )
    } catch (thrown) {
      yield error(`the guardrail files can't be read: ${reason(thrown)}`, 'correct GUARDRAILS_PATHS')
    }
  },
}
