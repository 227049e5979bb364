/** cstp workspace: creates, lists, archives, exports and erases workspaces of the data directory. */
import { resolve } from 'node:path'
import { listWorkspaces, requireWorkspace, settingsOf } from '../app/workspaces/folder.ts'
import { backupTo } from './backup.ts'
import { defineCommand, toggle } from './command.ts'
import { misuse } from './failure.ts'
import { print } from './terminal.ts'

// Loaded only here: it has the drivers with it.
const manage = () => import('../app/workspaces/manage.ts')

const create = defineCommand({
  name: 'workspace create',
  usage: '<name>',
  summary: 'Create a workspace.',
  about: ['Tokens for it are made with cstp token create --workspace. A service that runs knows it within a second.'],
  examples: [['cstp workspace create payments', 'then: cstp token create --workspace payments --agent planner']],
  async run(run) {
    const [name = ''] = run.words
    const made = await (await manage()).createWorkspace((await run.configuration()).settings, name)
    await print(run, { name, state: 'active', ...made }, () => `created  ${name}, settings in ${made.settings_file}\n`)
  },
})

const list = defineCommand({
  name: 'workspace list',
  summary: 'List the workspaces.',
  about: ['The default workspace, the data directory itself, is not in the list.'],
  examples: [['cstp workspace list', 'active and archived ones']],
  async run(run) {
    const workspaces = listWorkspaces((await run.configuration()).settings.data_dir)
    await print(run, { workspaces }, () =>
      workspaces.length === 0
        ? 'There is no workspace.\n'
        : workspaces.map(({ name, state }) => `${name}  ${state}\n`).join(''),
    )
  },
})

const archive = defineCommand({
  name: 'workspace archive',
  usage: '<name>',
  summary: 'Close a workspace to everybody, and keep its data.',
  about: [
    'A service that runs refuses its callers within a second. To open it again, remove the file <name>.archived in workspaces/ of the data directory.',
  ],
  examples: [['cstp workspace archive payments', 'nothing of it is changed']],
  async run(run) {
    const [name = ''] = run.words
    await (await manage()).archiveWorkspace((await run.configuration()).settings, name)
    await print(run, { name, state: 'archived' }, () => `archived  ${name}\n`)
  },
})

const exported = defineCommand({
  name: 'workspace export',
  usage: '<name> <folder>',
  summary: 'Copy one workspace to a folder, as a backup.',
  about: [
    'The same as cstp backup with the data directory of the workspace, while the service runs. cstp restore with --data-dir puts it back, here or as a data directory elsewhere.',
  ],
  examples: [['cstp workspace export payments ./payments', 'with its decisions, evidence and keys']],
  async run(run) {
    const [name = '', folder = ''] = run.words
    if (folder === '') throw misuse('cstp workspace export needs the name and a folder')
    const { settings } = await run.configuration()
    requireWorkspace(settings.data_dir, name)
    await backupTo(run, await settingsOf(settings, name), resolve(folder))
  },
})

const erase = defineCommand({
  name: 'workspace erase',
  usage: '<name>',
  summary: 'Erase an archived workspace: its tokens, its keys, then its data.',
  about: ['There is no way back but a backup. Backups and exports of it are not found by this command.'],
  flags: { yes: toggle('Required: erase it.') },
  examples: [['cstp workspace erase payments --yes', 'after cstp workspace archive payments']],
  async run(run) {
    const [name = ''] = run.words
    if (!run.flags.yes) throw misuse(`cstp workspace erase removes everything of ${name}: add --yes`)
    await (await manage()).eraseWorkspace((await run.configuration()).settings, name)
    await print(run, { name, state: 'erased' }, () => `erased  ${name}\n`)
  },
})

export const workspace = defineCommand({
  name: 'workspace',
  summary: 'Create, list, archive, export and erase workspaces.',
  about: [
    'A workspace is a data directory of its own, with its own decisions, rules, ledger and keys, served by the same process. A caller is in the one that its token or the claim of its issuer names.',
  ],
  verbs: [create, list, archive, exported, erase],
  examples: [
    ['cstp workspace create payments', 'a new one'],
    ['cstp workspace list', 'which there are'],
  ],
})
