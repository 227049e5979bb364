/** The adapter of each client. */
import type { HookAdapter, HookClient } from '../event.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'

export const adapters: Readonly<Record<HookClient, HookAdapter>> = {
  'claude-code': claudeCode,
  codex,
  cursor,
  gemini,
  copilot,
  opencode: claudeCode,
}
