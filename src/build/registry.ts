/** Makes the service known to MCP clients: `server.json` for the MCP registry, and a bundle that connects to a running server. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../core/version.ts'

const summary = 'Decision memory and policy for agents: precedents, checks, calibration, evidence.'

/** The entry of the MCP registry. @see https://github.com/modelcontextprotocol/registry */
export const serverJson = (name: string) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name,
  title: 'cstp',
  description: summary,
  version,
  packages: [
    {
      registryType: 'npm',
      identifier: 'cstp',
      version,
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
      packageArguments: [{ type: 'positional', value: 'mcp' }],
      environmentVariables: [
        { name: 'CSTP_DATA_DIR', description: 'Folder of the decisions; by default ~/.cstp', format: 'filepath' },
      ],
    },
  ],
})

/** The manifest of the bundle. @see https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md */
const manifest = (tools: readonly { name: string; description: string }[]) => ({
  manifest_version: '0.3',
  name: 'cstp',
  display_name: 'cstp',
  version,
  description: summary,
  long_description:
    'Connects to a cstp service that runs on this machine or elsewhere (npm start in a clone starts one). The bundle keeps nothing itself.',
  author: { name: 'The cstp authors' },
  license: 'Apache-2.0',
  keywords: ['decisions', 'memory', 'policy', 'audit'],
  server: {
    type: 'node',
    entry_point: 'server.mjs',
    mcp_config: {
      command: 'node',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the host fills these in.
      args: ['${__dirname}/server.mjs'],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the host fills these in.
      env: { CSTP_URL: '${user_config.url}', CSTP_TOKEN: '${user_config.token}' },
    },
  },
  tools,
  user_config: {
    url: {
      type: 'string',
      title: 'Address of the service',
      description: 'Where cstp answers.',
      default: 'http://127.0.0.1:9991',
      required: true,
    },
    token: {
      type: 'string',
      title: 'Token',
      description: 'The agent and its token, such as local:… with the text of the file ~/.cstp/token.',
      sensitive: true,
      required: true,
    },
  },
  compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: '>=20' } },
})

/** Writes the bundle's folder, ready for `mcpb pack`. */
export function writeBundle(folder: string, tools: readonly { name: string; description: string }[]): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(join(import.meta.dir, 'mcpb/server.mjs'), join(folder, 'server.mjs'))
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(manifest(tools), null, 2)}\n`)
}
