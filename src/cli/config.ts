/** cstp config: the effective settings, the source of each, and the scopes of each agent. */
import { settings as declared, type SettingName, scopesOfAgents, shownValue } from '../app/config/config.ts'
import { defineCommand } from './command.ts'
import { plain, print, tableText } from './terminal.ts'
import { tokenHolders } from './token.ts'

export const config = defineCommand({
  name: 'config',
  summary: 'Print the settings in effect, where each comes from, and what each agent may do.',
  about: [
    'Reads every setting as serve does, and prints its value and source, then every agent with its scopes. Secrets are masked.',
  ],
  examples: [
    ['cstp config', 'what cstp serve would use'],
    ['cstp config --config cstp.yaml --json', 'the same with a YAML file, for a program'],
  ],
  async run({ terminal, json, configuration }) {
    const { settings, sources } = await configuration()
    const rows = (Object.keys(declared) as SettingName[]).map((name) => {
      const { env, flag, yaml, secret } = declared[name]
      const shown = shownValue(name, settings[name])
      return {
        name,
        env,
        flag,
        yaml,
        source: sources[name],
        shown,
        // Addresses may hold passwords.
        value: secret || typeof settings[name] === 'string' ? settings[name] && shown : settings[name],
      }
    })
    const agents = [...scopesOfAgents(settings), ...tokenHolders(settings)]
    const result = { ...Object.fromEntries(rows.map(({ name, shown: _, ...rest }) => [name, rest])), agents }
    const { paint } = terminal
    await print({ json, terminal }, result, () => {
      const all = tableText(
        rows,
        [
          { title: 'setting', text: ({ env }) => env },
          { title: 'value', text: ({ shown }) => plain(shown), grows: true },
          {
            title: 'source',
            text: ({ source }) => plain(source),
            paint: (text, { source }) => (source === 'default' ? paint.dim(text) : paint.green(text)),
          },
        ],
        terminal,
      )
      const holders = tableText(
        agents,
        [
          {
            title: 'agent',
            text: ({ agent, workspace }) => plain(workspace === undefined ? agent : `${agent} in ${workspace}`),
          },
          { title: 'scopes', text: ({ scopes }) => scopes.join(' '), grows: true },
        ],
        terminal,
      )
      return `${all}\n${holders}`
    })
  },
})
