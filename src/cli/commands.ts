/** All commands, in the order of the help. */
import { approvals } from './approvals.ts'
import { audit } from './audit.ts'
import { backup } from './backup.ts'
import { call } from './call.ts'
import type { Command } from './command.ts'
import { config } from './config.ts'
import { dashboard } from './dashboard.ts'
import { docs } from './docs.ts'
import { doctor } from './doctor.ts'
import { dossier } from './dossier.ts'
import { evidence } from './evidence.ts'
import { exportDecisions } from './export.ts'
import { gateway } from './gateway.ts'
import { guardrails } from './guardrails.ts'
import { hook } from './hook.ts'
import { importDecisions } from './import.ts'
import { init } from './init.ts'
import { licenses } from './licenses.ts'
import { list } from './list.ts'
import { log } from './log.ts'
import { mcp } from './mcp.ts'
import { migrate } from './migrate.ts'
import { query } from './query.ts'
import { reindex } from './reindex.ts'
import { repair } from './repair.ts'
import { restore } from './restore.ts'
import { retention } from './retention.ts'
import { serve } from './serve.ts'
import { service } from './service.ts'
import { context, show } from './show.ts'
import { token } from './token.ts'
import { verify } from './verify.ts'
import { witness } from './witness.ts'
import { workspace } from './workspace.ts'
import { link, record, review, unlink } from './write.ts'

export const commands: readonly Command[] = [
  serve,
  dashboard,
  service,
  mcp,
  record,
  query,
  list,
  show,
  dossier,
  review,
  link,
  unlink,
  context,
  call,
  guardrails,
  init,
  hook,
  gateway,
  approvals,
  token,
  workspace,
  audit,
  verify,
  importDecisions,
  exportDecisions,
  reindex,
  evidence,
  log,
  witness,
  backup,
  restore,
  repair,
  migrate,
  doctor,
  retention,
  config,
  docs,
  licenses,
]
