/**
 * The workspaces of a data directory, in its folder `workspaces`:
 *
 * - `<name>.yaml`: the workspace, with the settings that are its own; it may be empty
 * - `<name>/`: its data directory
 * - `<name>.archived`: nobody may use it
 */
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isWorkspaceName } from '../../core/caller.ts'
import type { Packs } from '../../policy/places.ts'
import { ConfigError, isPostgres, type SettingName, type Settings, settingsOfFile } from '../config/config.ts'
import { refuseForeignFiles } from '../own-drivers.ts'

const folderOf = (data_dir: string): string => join(data_dir, 'workspaces')
export const settingsFile = (data_dir: string, name: string): string => join(folderOf(data_dir), `${name}.yaml`)
export const archivedMark = (data_dir: string, name: string): string => join(folderOf(data_dir), `${name}.archived`)
/** The data directory of a workspace. */
export const dataDirOf = (data_dir: string, name: string): string => join(folderOf(data_dir), name)

export interface Workspace {
  name: string
  state: 'active' | 'archived'
}

/** @throws Error if the folder can't be listed */
export function listWorkspaces(data_dir: string): Workspace[] {
  const folder = folderOf(data_dir)
  const names = existsSync(folder) ? new Set(readdirSync(folder)) : new Set<string>()
  return [...names]
    .filter((file) => file.endsWith('.yaml') && isWorkspaceName(file.slice(0, -'.yaml'.length)))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort()
    .map((name) => ({ name, state: names.has(`${name}.archived`) ? 'archived' : 'active' }))
}

/** @throws Error naming the workspace, if there is none */
export function requireWorkspace(data_dir: string, name: string): Workspace {
  const found = listWorkspaces(data_dir).find((one) => one.name === name)
  if (!found) throw new Error(`there is no workspace ${name}: cstp workspace list shows all`)
  return found
}

/** What a workspace may set for itself; everything else is of the process, or of its identities. */
const own: readonly SettingName[] = [
  'agent_bytes_per_day',
  'approver_roles',
  'attribute_by_age',
  'categories',
  'control_packs',
  'environments',
  'gateway',
  'github_bots',
  'github_webhook_secret',
  'guardrails_paths',
  'hook_prompts',
  'min_stability_days',
  'packs',
  'publish_categories',
  'publish_min_stakes',
  'publish_projects',
  'rate_limit',
  'record_guardrails',
  'retention',
  'secrets',
  'tracker_ttl_minutes',
  'webhook_events',
  'webhook_secret',
  'webhook_url',
  'witnesses',
]

/** What a workspace does not take over from the settings of the service: addresses, credentials and names of agents. */
const foreign = {
  // No agent of the settings is one of a workspace.
  auth_tokens: [],
  ...{ admin_agents: [], evidence_agents: [], curators: [], approvers: [], leads: [], auditors: [] },
  ...{ approver_roles: {}, gateway: {}, github_bots: [], github_webhook_secret: null },
  ...{ webhook_url: null, webhook_secret: null, witnesses: null },
  ...{ publish_categories: [], publish_projects: [], publish_min_stakes: null },
  ...{ bundle_dir: null, evidence_key: null },
} satisfies Partial<Settings>

const inSchema = (address: string, name: string): string => {
  const url = new URL(address)
  const base = url.searchParams.get('schema')
  // Names have no underscore, so no two of them make one schema.
  url.searchParams.set('schema', `${base === null ? '' : `${base}_`}ws_${name.replaceAll('-', '_')}`)
  if (!url.searchParams.has('connections')) url.searchParams.set('connections', '4')
  return url.toString()
}

/** The place of a workspace's search index in the one of the settings. */
const inPlace = (place: string, name: string): string => `${place.replace(/\/$/, '')}/workspaces/${name}`

/**
 * The settings of a workspace: those of the service, with its own data directory or schema, and what its file sets. Rules are added to those
 * of the service, and replace none.
 * @throws ConfigError naming the file and what is wrong in it
 */
export async function settingsOf(
  settings: Settings,
  name: string,
  env: Record<string, string | undefined> = process.env,
): Promise<Settings> {
  await refuseForeignFiles(settings, "can't keep workspaces apart")
  const { data_dir, store_url, provenance_db, search_url } = settings
  const file = settingsFile(data_dir, name)
  const given = await settingsOfFile({ file, env, readFile: (path) => readFile(path, 'utf8') }, own)
  const made: Settings & Packs = {
    ...settings,
    ...foreign,
    inherited: settings,
    data_dir: dataDirOf(data_dir, name),
    store_url: store_url && inSchema(store_url, name),
    provenance_db: isPostgres(provenance_db) ? inSchema(provenance_db, name) : null,
    search_url: search_url && inPlace(search_url, name),
    ...given,
    guardrails_paths: [...new Set([...settings.guardrails_paths, ...(given.guardrails_paths ?? [])])],
    packs: [...new Set([...settings.packs, ...(given.packs ?? [])])],
  }
  if (made.webhook_url && made.webhook_secret === null)
    throw new ConfigError([`approvals.webhook_secret (file ${file}): required with approvals.webhook_url`])
  return made
}
