/** Hooks of Codex: its schemas are in the repository openai/codex, `codex-rs/hooks/schema`. Objects allow no other keys, and `ask` runs the tool. */
import { fieldsOf } from '../body.ts'
import type { HookAdapter } from '../event.ts'
import { readNamed, writeNamed } from './claude-code.ts'

export const codex: HookAdapter = {
  read: (body) => readNamed(fieldsOf(body)),
  write: writeNamed,
}
