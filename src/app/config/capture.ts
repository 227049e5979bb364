/** Settings for how much of what agents send is stored. */
import { oneOf, setting } from './read.ts'

export const captureSettings = {
  hook_prompts: setting(
    'hooks.prompts',
    'CSTP_HOOK_PROMPTS',
    'text',
    oneOf('text', 'digest'),
    'What hooks store of a prompt: text is its text without secrets, digest only its SHA-256.',
  ),
  secrets: setting(
    'store.secrets',
    'CSTP_SECRETS',
    'reject',
    oneOf('mask', 'reject', 'allow'),
    'What happens if a decision, a review, a thought or a link contains a definite secret: mask replaces it, reject refuses the call, allow stores it.',
  ),
}
