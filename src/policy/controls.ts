/** The control rules that come with the program, as part of it. */
import attested from '../../guardrails/controls/attested.yaml' with { type: 'text' }
import nistAiRmf from '../../guardrails/controls/nist-ai-rmf.yaml' with { type: 'text' }
import sr117 from '../../guardrails/controls/sr-11-7.yaml' with { type: 'text' }
import { type ControlRules, compileControls } from '../domain/evidence/controls.ts'
import { parseControlFiles } from '../domain/evidence/rules.ts'
import { PolicyError } from './files.ts'

/** In the order of the report. A test compares them with the folder. */
export const shippedControls = [
  { name: 'guardrails/controls/sr-11-7.yaml', text: sr117 },
  { name: 'guardrails/controls/nist-ai-rmf.yaml', text: nistAiRmf },
  { name: 'guardrails/controls/attested.yaml', text: attested },
]

/** @throws PolicyError with all that is wrong */
export function loadControls(files = shippedControls): ControlRules {
  const { sets, errors } = parseControlFiles(files)
  if (errors.length > 0) throw new PolicyError(errors)
  return compileControls(sets)
}
