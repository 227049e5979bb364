/** What derives from the schemas of control rules and of bundles, and from the shipped rules: JSON Schema and the reference page. */
import { toJsonSchema } from '@valibot/to-json-schema'
import { BundleFile } from '../../sdk/schema/bundle.ts'
import { ControlFile } from '../../sdk/schema/control.ts'
import type { PlacedRule } from '../domain/evidence/controls.ts'
import type { ControlSet } from '../domain/evidence/rules.ts'
import { loadControls } from '../policy/files.ts'

/** A JSON Schema as a file. */
const schemaFile = (schema: unknown, title: string): string => {
  const { $schema, ...rest } = toJsonSchema(schema as never, { errorMode: 'ignore', typeMode: 'input' })
  return `${JSON.stringify({ $schema, title, ...rest }, null, 2)}\n`
}

export const bundleSchema = (): string => schemaFile(BundleFile, 'cstp evidence bundle')
export const controlsSchema = (): string => schemaFile(ControlFile, 'cstp control rules')

const conditionText = ({ field, ...asked }: PlacedRule['match']['conditions'][number]): string =>
  Object.entries(asked)
    .map(([test, value]) => `\`${field}\` ${test} \`${JSON.stringify(value)}\``)
    .join('')

function section({ framework, version, date, source, note, evidence_class, digest, rules }: ControlSet): string {
  const rows = rules.map(({ id, function_id, control_name, stage, description, reason, match }) => {
    const when = [`\`${match.event_type}\``, ...match.conditions.map(conditionText)].join(', ')
    return `| ${function_id} | ${control_name} | ${stage} | \`${id}\` | ${when} | ${description ?? `Insufficient: ${reason}`} |`
  })
  return [
    `## ${framework}`,
    `Version ${version} of ${date}, for ${evidence_class} events. Digest \`${digest}\`.`,
    `Source: ${source}.`,
    note,
    ['| Control | Name | Stage | Rule | When | What it says |', '| --- | --- | --- | --- | --- | --- |', ...rows].join(
      '\n',
    ),
  ].join('\n\n')
}

/** The reference page. @param head of a page */
export function controlsPage(head: (title: string, about: string) => string): string {
  const about =
    'The control rules that are in force. A control is judged once for each event: where no rule maps it, the first rule about insufficient evidence that fits says why. The digest is the SHA-256 of the rules as canonical JSON; a bundle carries the rules by which it was made, and `cstp verify` prints their digests. For editors: [controls.schema.json](controls.schema.json). [The guide](../guide/evidence.md) says how to read mappings.'
  return `${[head('Control rules', about), ...loadControls().sets.map(section)].join('\n')}\n`
}
