/** Creates, archives and erases workspaces, whether or not a server runs. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isWorkspaceName, workspaceForm } from '../../core/caller.ts'
import { createFile } from '../../core/disk.ts'
import { lock } from '../backup/restore.ts'
import { isPostgres, type Settings } from '../config/config.ts'
import { refuseForeignFiles } from '../own-drivers.ts'
import { endToken, listTokens } from '../tokens.ts'
import { archivedMark, dataDirOf, requireWorkspace, settingsFile, settingsOf } from './folder.ts'

const template = `# Settings of this workspace, such as guardrails.paths, server.rate_limit or github.webhook_secret.
# What is not set here is as in the service. A server reads this file when it opens the workspace, and after SIGHUP.
`

/** @throws Error if the name is wrong or taken */
export async function createWorkspace(settings: Settings, name: string): Promise<{ settings_file: string }> {
  const { data_dir } = settings
  if (!isWorkspaceName(name)) throw new Error(`${name} can't be the name of a workspace: ${workspaceForm}`)
  await refuseForeignFiles(settings, "can't keep workspaces apart")
  if (existsSync(dataDirOf(data_dir, name)) && !existsSync(settingsFile(data_dir, name)))
    throw new Error(`${dataDirOf(data_dir, name)} is there already: create the workspace before you restore into it`)
  if (!(await createFile(settingsFile(data_dir, name), template)))
    throw new Error(`the workspace ${name} is there already`)
  return { settings_file: settingsFile(data_dir, name) }
}

/** From within a second on, nobody may use it; nothing of it is changed. */
export async function archiveWorkspace({ data_dir }: Settings, name: string): Promise<void> {
  requireWorkspace(data_dir, name)
  await createFile(archivedMark(data_dir, name), '')
}

/**
 * Ends its tokens, then removes its keys, then everything else of it. An interrupted erasure can be repeated.
 * @throws Error if it is not archived, or a server still has it open
 */
export async function eraseWorkspace(settings: Settings, name: string): Promise<void> {
  const { data_dir } = settings
  if (requireWorkspace(data_dir, name).state !== 'archived')
    throw new Error(`the workspace ${name} is in use: cstp workspace archive ${name} first`)
  const own = await settingsOf(settings, name)
  lock(own.data_dir)()
  const now = Date.now()
  for (const { id, workspace, state } of listTokens(data_dir, now))
    if (workspace === name && state === 'active') await endToken(data_dir, id, now)
  await rm(join(own.data_dir, 'keys'), { recursive: true, force: true })
  const addresses = new Set([own.store_url, own.provenance_db].filter((place) => isPostgres(place)))
  for (const address of addresses) await dropSchema(address!)
  await rm(own.data_dir, { recursive: true, force: true })
  await rm(settingsFile(data_dir, name), { force: true })
  await rm(archivedMark(data_dir, name), { force: true })
}

async function dropSchema(address: string): Promise<void> {
  const { connect } = await import('../../drivers/shared/postgres/client.ts')
  const client = await connect({ url: address, connections: 1, statement_timeout_ms: 30_000, make: false })
  try {
    await client.begin((query) => query(`drop schema ${new URL(address).searchParams.get('schema')} cascade`))
  } finally {
    await client.close()
  }
}
