/** The documents keep step with the program: generated pages are fresh, links lead somewhere, named scripts and settings exist. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { codes } from '../sdk/errors.ts'
import { settings } from '../src/app/config/config.ts'
import { generated } from '../src/generate/main.ts'
import { methods } from '../src/methods/table.ts'

const root = join(import.meta.dir, '..')
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8')

async function pages(): Promise<string[]> {
  const found = (await readdir(join(root, 'docs'), { recursive: true })).filter(
    (path) => path.endsWith('.md') && !path.startsWith('api/'),
  )
  return ['README.md', 'CHANGELOG.md', ...found.map((path) => join('docs', path))].sort()
}

describe('generated files', async () => {
  for (const [path, text] of await generated()) {
    test(`${path} is fresh`, async () => {
      expect(await read(path)).toBe(text)
    })
  }
})

describe('pages', async () => {
  for (const page of await pages()) {
    test(`${page}: links lead to files`, async () => {
      const text = (await read(page)).replace(/```[\s\S]*?```/g, '')
      const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map((match) => match[1]!)
        .filter((target) => !/^[a-z]+:/.test(target))
      expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([])
    })
    test(`${page}: scripts that are named exist`, async () => {
      const named = [...(await read(page)).matchAll(/(?:bun|npm) run ([a-z][\w:-]*)/g)].map((match) => match[1]!)
      expect(named.filter((script) => !Object.hasOwn(manifest.scripts, script))).toEqual([])
    })
    test(`${page}: settings that are named exist`, async () => {
      const known = new Set([
        'CSTP_CONFIG',
        'CSTP_AGENT',
        'CSTP_TOKEN',
        'CSTP_URL',
        'CSTP_RUNS',
        'CSTP_SOAK',
        ...Object.values(settings).map(({ env }) => env),
      ])
      const named = [...(await read(page)).matchAll(/\bCSTP_[A-Z_]+/g)].map(([name]) => name)
      expect(named.filter((name) => !known.has(name))).toEqual([])
    })
  }
})

test('the list of pages names every page', async () => {
  const list = await read('docs/README.md')
  const named = new Set([...list.matchAll(/\]\(([^)]+)\)/g)].map((match) => join('docs', match[1]!)))
  expect(
    (await pages()).filter(
      (page) => !named.has(page) && !/^(?:CHANGELOG|docs\/README)\.md$|^docs\/examples\/.+\//.test(page),
    ),
  ).toEqual([])
})

test('every method, setting and error code has a heading in the reference', async () => {
  const headings = new Set(
    [...(await generated()).values()].flatMap((text) =>
      [...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!.split(' ')[0]!),
    ),
  )
  const wanted = [
    ...methods.keys(),
    ...Object.values(settings).map(({ env }) => env),
    ...Object.values(codes).map(String),
  ]
  expect(wanted.filter((name) => !headings.has(name))).toEqual([])
})

test('every parameter and every field of a result says what it is', async () => {
  const page = (await generated()).get('docs/reference/methods.md') ?? ''
  const silent = page.split('\n').filter((line) => /^\| `/.test(line) && /\|\s*\|$/.test(line))
  expect(silent).toEqual([])
})
