/** The reference page of the MCP surface: tools, resources and prompts, as clients receive them. */
import { prompts } from '../surfaces/mcp/prompts.ts'
import { fixed, templates } from '../surfaces/mcp/resources.ts'
import { listTools, methodOf } from '../surfaces/mcp/tools.ts'
import { page, rowsOf, table } from './markdown.ts'

const anchor = (method: string): string => method.replace('.', '').toLowerCase()

function effect({ annotations = {} }: ReturnType<typeof listTools>[number]): string {
  if (annotations.readOnlyHint) return 'Reads only.'
  const changes = annotations.destructiveHint ? 'Replaces earlier values.' : 'Adds.'
  return `${changes}${annotations.idempotentHint ? ' Repeating the same call changes nothing more.' : ''}`
}

export function mcpPage(): string {
  const tools = listTools().map((tool) => {
    const method = methodOf(tool.name)!
    const takes = rowsOf(tool.inputSchema, true)
    return [
      `## ${tool.name}`,
      tool.description,
      `Calls [${method}](methods.md#${anchor(method)}) and returns its result. ${effect(tool)}`,
      takes.length === 0 ? 'No input.' : table(['Input', 'Type', 'Default', 'Meaning'], takes),
    ].join('\n\n')
  })
  const addresses = [...templates.map(({ uriTemplate, description }) => ({ uri: uriTemplate, description })), ...fixed]
  const resources = table(
    ['Address', 'What it is'],
    addresses.map(({ uri, description = '' }) => [`\`${uri}\``, description]),
  )
  const asked = table(
    ['Prompt', 'Arguments', 'What it does'],
    prompts.map(({ name, description, arguments: given = [] }) => [
      `\`${name}\``,
      given.map((one) => `\`${one.name}\`: ${one.description}`).join(' '),
      description ?? '',
    ]),
  )
  const about =
    'Tools, resources and prompts for MCP clients at `/mcp` and in `cstp mcp`; for the setup, see [the guide](../guide/mcp.md). Unknown fields are rejected. A failed call returns a result with `isError` whose text is JSON: `error` (`validation_error` or `internal_error`), `message`, `code` (see [Errors](errors.md)) and, if available, `data`.'
  return page('MCP', about, ...tools, '## Resources', resources, '## Prompts', asked)
}
