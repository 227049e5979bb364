/** What a transcript expects of an answer: exact values, and words in angle brackets for what differs from run to run. */

const forms: Record<string, RegExp> = {
  id: /^\d{4}-\d{2}-\d{2}-decision-[0-9a-f]{12}$/,
  record: /^\d{4}-\d{2}-\d{2}-evaluation-[0-9a-f]{19}$/,
  time: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/,
  day: /^\d{4}-\d{2}-\d{2}$/,
  hash: /^[0-9a-f]{64}$/,
  text: /[^\s]/,
}

const near = /^<(-?[\d.]+) ± ([\d.]+)>$/
const pattern = /^<\/(.*)\/>$/

/** Whether a value is what a word in angle brackets says; null where the text is no such word. */
function fits(word: string, value: unknown): boolean | null {
  if (word === '<any>') return value !== undefined
  if (word === '<number>') return typeof value === 'number' && Number.isFinite(value)
  if (word === '<boolean>') return typeof value === 'boolean'
  const tolerant = near.exec(word)
  if (tolerant) return typeof value === 'number' && Math.abs(value - Number(tolerant[1])) <= Number(tolerant[2])
  const form = pattern.exec(word)?.[1] ?? forms[word.slice(1, -1)]?.source
  if (form === undefined || !/^<.*>$/s.test(word)) return null
  return typeof value === 'string' && new RegExp(form, 's').test(value)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** What there is more than expected, where a transcript says so: a key or a last entry of three dots. */
const more = '...'
const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** Every difference between an answer and what is expected, as `path: what`; none where it fits. */
export function differences(expected: unknown, value: unknown, path = ''): string[] {
  const here = path || 'the answer'
  if (typeof expected === 'string') {
    const fit = fits(expected, value) ?? expected === value
    return fit ? [] : [`${here}: expected ${show(expected)}, received ${show(value)}`]
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(value)) return [`${here}: expected a list, received ${show(value)}`]
    const open = expected.at(-1) === more
    const wanted = open ? expected.slice(0, -1) : expected
    if (open ? value.length < wanted.length : value.length !== wanted.length)
      return [`${here}: expected ${wanted.length} entries, received ${value.length}: ${show(value)}`]
    return wanted.flatMap((one, index) => differences(one, value[index], `${path}[${index}]`))
  }
  if (isObject(expected)) {
    if (!isObject(value)) return [`${here}: expected an object, received ${show(value)}`]
    const unknown = more in expected ? [] : Object.keys(value).filter((key) => !Object.hasOwn(expected, key))
    return [
      ...unknown.map((key) => `${path}.${key}: was not expected: ${show(value[key])}`),
      ...Object.entries(expected).flatMap(([key, one]) =>
        key === more ? [] : differences(one, value[key], `${path}.${key}`),
      ),
    ]
  }
  return Object.is(expected, value) ? [] : [`${here}: expected ${show(expected)}, received ${show(value)}`]
}
