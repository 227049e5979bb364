/** Every command, in the order of the help. */
import { audit } from './audit.ts'
import { call } from './call.ts'
import type { Command } from './command.ts'
import { config } from './config.ts'
import { evidence } from './evidence.ts'
import { exportDecisions } from './export.ts'
import { guardrails } from './guardrails.ts'
import { importDecisions } from './import.ts'
import { mcp } from './mcp.ts'
import { query } from './query.ts'
import { reindex } from './reindex.ts'
import { serve } from './serve.ts'
import { witness } from './witness.ts'

export const commands: readonly Command[] = [
  serve,
  mcp,
  query,
  call,
  guardrails,
  audit,
  importDecisions,
  exportDecisions,
  reindex,
  evidence,
  witness,
  config,
]
