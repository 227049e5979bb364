/** Names in registries that are not ours yet: a person who registers one would run code wherever our pages fetch it. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../support/process.ts'

/** A command that fetches a package: its options, then one of our names. */
const fetches =
  /\b(?:npx|bunx|npm (?:install|i|add|exec|x|create)|pnpm (?:add|dlx|i|install)|yarn (?:add|dlx)|bun (?:add|x|install|i)|deno (?:add|install|run))(?:[ \t]+-[\w=.-]+)*[ \t]+["']?(?:npm:|jsr:)?(?:cstp(?![\w./-])|@cstp\/[\w-]+)/g

/** What people and machines read and run. What is published with the packages themselves may name them. */
const pages = [
  '*.md',
  'sdk/README.md',
  'docs/**/*.{md,yml,yaml,sh,ts,json,svg}',
  '.github/**/*.yml',
  '.changeset/*.md',
  'plugin/**/*.{json,md,mjs}',
  'src/{app,cli,calls,dashboard,surfaces,generate}/**/*.{ts,tsx}',
]

test('nothing that is shipped fetches cstp or @cstp from a registry by name', async () => {
  const found: string[] = []
  let read = 0
  for (const page of pages)
    for await (const path of new Bun.Glob(page).scan({ cwd: root, dot: true })) {
      read++
      for (const [text] of (await readFile(join(root, path), 'utf8')).matchAll(fetches)) found.push(`${path}: ${text}`)
    }
  expect(read).toBeGreaterThan(100)
  expect(found).toEqual([])
})

test.each([
  ['npx cstp init', true],
  ['npx --yes cstp@0.10.0 guardrails check', true],
  ['npx -y "cstp@$VERSION" verify', true],
  ['npm install --global cstp@0.10.0', true],
  ['npm install @cstp/client', true],
  ['bun add @cstp/client@1', true],
  ['deno add npm:@cstp/client', true],
  ['npx @modelcontextprotocol/inspector --cli cstp mcp', false],
  ['npm install ./cstp-client-0.10.0.tgz', false],
  ['npx bun src/main.ts', false],
])('%s fetches by name: %p', (line, is) => {
  expect([...line.matchAll(fetches)].length > 0).toBe(is)
})
