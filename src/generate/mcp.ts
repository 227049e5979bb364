/** The reference page of the MCP surface: tools, resources and prompts, as clients receive them. */
import { prompts } from '../surfaces/mcp/prompts.ts'
import { fixed, templates } from '../surfaces/mcp/resources.ts'
import { listTools, methodOf } from '../surfaces/mcp/tools.ts'

type Rows = (schema: object, withDefaults: boolean) => string[]

const anchor = (method: string): string => method.replace('.', '').toLowerCase()

function effect({ annotations = {} }: ReturnType<typeof listTools>[number]): string {
  if (annotations.readOnlyHint) return 'Reads only.'
  const changes = annotations.destructiveHint ? 'Replaces earlier values.' : 'Adds.'
  return `${changes}${annotations.idempotentHint ? ' Repeating the same call changes nothing more.' : ''}`
}

export function mcpPage(rows: Rows, head: (title: string, about: string) => string): string {
  const tools = listTools().map((tool) => {
    const method = methodOf(tool.name)!
    const takes = rows(tool.inputSchema, true)
    return [
      `## ${tool.name}`,
      tool.description,
      `Calls [${method}](methods.md#${anchor(method)}) and returns its result. ${effect(tool)}`,
      takes.length === 0
        ? 'No input.'
        : ['| Input | Type | Default | Meaning |', '| --- | --- | --- | --- |', ...takes].join('\n'),
    ].join('\n\n')
  })
  const resources = [
    '| Address | What it is |',
    '| --- | --- |',
    ...templates.map(({ uriTemplate, description }) => `| \`${uriTemplate}\` | ${description} |`),
    ...fixed.map(({ uri, description }) => `| \`${uri}\` | ${description} |`),
  ].join('\n')
  const asked = [
    '| Prompt | Arguments | What it does |',
    '| --- | --- | --- |',
    ...prompts.map(
      ({ name, description, arguments: given = [] }) =>
        `| \`${name}\` | ${given.map((one) => `\`${one.name}\`: ${one.description}`).join(' ')} | ${description} |`,
    ),
  ].join('\n')
  const about =
    'Tools, resources and prompts for MCP clients at `/mcp` and in `cstp mcp`; for the setup, see [the guide](../guide/mcp.md). Unknown fields are rejected. A failed call returns a result with `isError` whose text is JSON: `error` (`validation_error` or `internal_error`), `message`, `code` (see [Errors](errors.md)) and, if available, `data`.'
  return `${[head('MCP', about).trimEnd(), ...tools, `## Resources\n\n${resources}`, `## Prompts\n\n${asked}`].join('\n\n')}\n`
}
