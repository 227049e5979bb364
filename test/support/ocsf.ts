/** Checks events against the published schema of OCSF 1.5, as far as the fixture describes it. */
import schema from '../fixtures/ocsf-1.5.0.json'

interface Attribute {
  type: string
  object?: string
  array?: boolean
  required?: boolean
  profile?: string
  enum?: number[]
}
interface Shape {
  attributes: Record<string, Attribute>
  constraints: { at_least_one?: string[]; just_one?: string[] }
}
const classes = Object.values(schema.classes) as unknown as (Shape & { class_uid: number; category_uid: number })[]
const objects = schema.objects as unknown as Record<string, Shape>

type Json = Record<string, unknown>

const isOf: Record<string, (value: unknown) => boolean> = {
  string_t: (value) => typeof value === 'string',
  boolean_t: (value) => typeof value === 'boolean',
  integer_t: Number.isInteger,
  long_t: Number.isInteger,
  object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
  json_t: () => true,
}

function problemsOf(
  value: Json,
  { attributes, constraints }: Shape,
  profiles: readonly string[],
  at: string,
): string[] {
  const problems: string[] = []
  const applies = ({ profile }: Attribute) => profile === undefined || profiles.includes(profile)
  for (const [name, attribute] of Object.entries(attributes))
    if (attribute.required && applies(attribute) && value[name] === undefined) problems.push(`${at}${name}: missing`)
  for (const [name, found] of Object.entries(value)) {
    const attribute = attributes[name]
    const place = `${at}${name}`
    if (!attribute || !applies(attribute)) {
      problems.push(`${place}: not in the schema`)
      continue
    }
    if (Array.isArray(found) !== (attribute.array ?? false)) problems.push(`${place}: a list, or not`)
    for (const one of Array.isArray(found) ? found : [found]) {
      if (!isOf[attribute.type]!(one)) problems.push(`${place}: not ${attribute.type}`)
      if (attribute.enum && !attribute.enum.includes(one as number)) problems.push(`${place}: ${one} is no such value`)
      const shape = attribute.object === undefined ? undefined : objects[attribute.object]
      if (shape) problems.push(...problemsOf(one as Json, shape, profiles, `${place}.`))
    }
  }
  const { at_least_one: some, just_one: one } = constraints
  if (some && !some.some((name) => name in value)) problems.push(`${at}: one of ${some.join(', ')}`)
  if (one && one.filter((name) => name in value).length !== 1) problems.push(`${at}: just one of ${one.join(', ')}`)
  return problems
}

/** What is wrong with an event; empty if nothing is. */
export function ocsfProblems(event: Json): string[] {
  const found = classes.find(({ class_uid }) => class_uid === event.class_uid)
  if (!found) return [`class_uid: ${event.class_uid} is not described`]
  const profiles = ((event.metadata as Json).profiles ?? []) as string[]
  const problems = problemsOf(event, found, profiles, '')
  if (event.category_uid !== found.category_uid) problems.push('category_uid: another than that of the class')
  if (event.type_uid !== (event.class_uid as number) * 100 + (event.activity_id as number))
    problems.push('type_uid: not class_uid × 100 + activity_id')
  return problems
}
