/** Values as YAML to read, such as the text of a rule. */

/** Whether YAML reads a text as that text without quotes, and on one line. */
const isPlain = (text: string): boolean =>
  /^[A-Za-z_][\w .,()/'-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text) && !text.endsWith(' ')
const scalar = (value: unknown): string =>
  typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value ?? null)

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

export function yamlOf(value: unknown, indent = ''): string {
  if (!isNested(value)) return `${indent}${scalar(value)}\n`
  const deeper = `${indent}  `
  if (Array.isArray(value))
    return value.every((one) => !isNested(one))
      ? `${indent}[${value.map(scalar).join(', ')}]\n`
      : value
          .map((one) =>
            isNested(one) ? `${indent}- ${yamlOf(one, deeper).slice(deeper.length)}` : `${indent}- ${scalar(one)}\n`,
          )
          .join('')
  return Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => {
      const name = `${indent}${isPlain(key) ? key : JSON.stringify(key)}:`
      if (!isNested(inner)) return `${name} ${scalar(inner)}\n`
      const flat = Array.isArray(inner) && inner.every((one) => !isNested(one))
      return flat ? `${name} ${yamlOf(inner)}` : `${name}\n${yamlOf(inner, deeper)}`
    })
    .join('')
}

/** A rule as its file may have it: without its location, what is derived, and empty members. */
export const ruleText = ({
  trust: ____,
  file: _,
  line: __,
  column: ___,
  ...rule
}: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(rule).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  )
