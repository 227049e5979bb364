/**
 * Runs the code blocks of README.md, docs/guide/*.md and docs/verify, page by page, from top to bottom.
 *
 * - `sh` blocks run in bash and must end with status 0. Each page has a home of its own with a service on it, whose port replaces
 *   9991. `cstp`, `npx bun` and a stand-in for `claude` are there, `./rules` and `new-rule.yaml` are rule files, and `<id>` is the decision recorded last.
 * - A `text` block that follows at once is what the block printed: the output has its lines, in this order, save that ids, dates, hashes, scores
 *   and durations may differ, and that a line `…` stands for any lines.
 * - `json` blocks must parse. `ts` blocks run under Bun in the same folder; the client's package resolves to its source.
 * - A block that can't run says so, and why: ```` ```sh no-run needs Docker ````. A reason is a must.
 *
 * Other languages are not looked at here.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyLacking } from './support/needing.ts'
import { cstpLine, root, run, serve, shortLived } from './support/process.ts'

setDefaultTimeout(120_000)

interface Block {
  page: string
  line: number
  language: string
  /** Why it is not run; null where it is. */
  unrun: string | null
  text: string
  /** What it prints; null where the page doesn't say. */
  prints: string | null
}

function blocksOf(page: string, markdown: string): Block[] {
  const blocks: Block[] = []
  let end = 0
  for (const match of markdown.matchAll(/^( *)```([a-z]+)([^\n]*)\n([\s\S]*?)^\1```$/gm)) {
    const [, indent = '', language = '', info = '', text = ''] = match
    const line = markdown.slice(0, match.index).split('\n').length
    const unrun = /^ no-run(?: (.*))?$/.exec(info)
    const lines = text.split('\n').map((one) => (one.startsWith(indent) ? one.slice(indent.length) : one))
    const before = blocks.at(-1)
    if (language === 'text' && before && markdown.slice(end, match.index).trim() === '')
      before.prints = lines.join('\n')
    else
      blocks.push({
        page,
        line,
        language,
        unrun: unrun ? (unrun[1] ?? '').trim() : null,
        text: lines.join('\n'),
        prints: null,
      })
    end = match.index + match[0].length
  }
  return blocks
}

/** Without what differs from run to run. */
const masked = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/\b(?:\d{4}-\d\d-\d\d-[a-z]+-)?(?:[0-9a-f]{19}|[0-9a-f]{12}|[0-9a-f]{8})\b/g, '<id>')
    .replace(/\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?/g, '<date>')
    .replace(/^ *\d\.\d{3}(?= )/gm, '<score>')
    .replace(/\bdecisions\/\d{4}\/\d\d\b/g, 'decisions/<month>')
    .replace(/[\d.]+(?= (?:ms|s|per second)\b)|(?<="(?:query_time_ms|duration_ms)": )\d+/g, '<n>')

/** Lines of `shown` that `printed` lacks, or has in another order. */
export function missing(shown: string, printed: string): string[] {
  const found = masked(printed).split('\n')
  let at = 0
  return masked(shown)
    .split('\n')
    .filter((line) => line.trim() !== '' && line.trim() !== '…')
    .filter((line) => {
      const next = found.findIndex((one, index) => index >= at && one.trimEnd() === line.trimEnd())
      if (next >= 0) at = next + 1
      return next < 0
    })
}

const guides = (await readdir(join(root, 'docs/guide'))).filter((name) => name.endsWith('.md')).sort()
const pages = ['README.md', ...guides.map((name) => `docs/guide/${name}`), 'docs/verify/README.md']

/** Programs that blocks use and a machine may lack. */
const tools = ['cat', 'cp', 'curl', 'date', 'git', 'grep', 'head', 'mkdir', 'python3', 'rm', 'sed', 'sleep', 'tail']
const names = (blocks: readonly Block[], tool: string): boolean =>
  blocks.some(({ language, text }) => language === 'sh' && new RegExp(`\\b${tool}\\b`).test(text))

/** A place for the blocks of one page. */
async function openPlace(home: string) {
  const [cwd, bin] = [join(home, 'work'), join(home, 'bin')]
  await mkdir(cwd)
  await mkdir(bin)
  for (const name of ['src', 'sdk', 'docs', 'guardrails', 'node_modules', 'package.json'])
    await symlink(join(root, name), join(cwd, name))
  await cp(join(root, 'guardrails'), join(cwd, 'rules'), { recursive: true })
  await cp(join(root, 'guardrails/templates/secrets.yaml'), join(cwd, 'new-rule.yaml'))
  const paths = {
    '@cstp/client': ['./sdk/client.ts'],
    '@cstp/client/ai': ['./sdk/frameworks/ai.ts'],
    '@cstp/client/guard': ['./sdk/frameworks/guard.ts'],
    '@cstp/client/storage': ['./sdk/storage/index.ts'],
  }
  await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }))
  const program = (name: string, text: string) => writeFile(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  await program('bun', `exec '${process.execPath}' "$@"`)
  await program('npx', `exec "$@"`)
  await program('claude', `exec '${process.execPath}' '${join(root, 'test/surfaces/mcp/claude.ts')}' "$@"`)
  await program('cstp', `exec ${cstpLine} "$@"`)
  const env = { ...shortLived, HOME: home, PATH: `${bin}:${process.env.PATH}`, CSTP_LOG_LEVEL: 'warn' }
  const service = await serve(env)
  // The README starts its service on a folder of its own.
  await symlink('.cstp', join(home, 'cstp-tour'))
  const port = new URL(service.url).port
  const token = await readFile(join(home, '.cstp/token'), 'utf8')
  return { env: { ...env, CSTP_PORT: port }, token: token.trim(), cwd, service }
}

for (const page of pages) {
  const blocks = blocksOf(page, await readFile(join(root, page), 'utf8'))
  const runnable = blocks.filter(({ language, unrun }) => ['sh', 'ts'].includes(language) && unrun === null)
  // Blocks build on those before them: none of the page runs where one can't.
  const needed = runnable.some(({ language }) => language === 'sh') ? ['bash', ...tools] : []
  const whyNot = whyLacking(needed.filter((name) => name === 'bash' || names(runnable, name)))
  const run = whyNot === null ? runnable : []
  describe(page, () => {
    let home: string
    let place: Awaited<ReturnType<typeof openPlace>>
    if (run.length > 0) {
      beforeAll(async () => {
        home = await mkdtemp(join(tmpdir(), 'cstp-guide-'))
        place = await openPlace(home)
      })
      afterAll(async () => {
        await place?.service.stop()
        await rm(home, { recursive: true, force: true })
      })
    }

    if (whyNot !== null) test.skip(`its blocks run (${whyNot})`, () => {})

    test('blocks that are not run say why', () => {
      expect(blocks.filter(({ unrun }) => unrun === '').map(({ line }) => line)).toEqual([])
    })

    for (const { line, language, unrun, text } of blocks) {
      if (language === 'json' && unrun === null) test(`line ${line}: json`, () => void JSON.parse(text))
    }

    for (const { line, language, text, prints } of run) {
      test(`line ${line}: ${language}`, async () => {
        const { env, token, cwd, service } = place
        const id = text.includes('<id>') ? await lastId(env, cwd) : ''
        const script = text.replaceAll('<id>', id).replaceAll('127.0.0.1:9991', new URL(service.url).host)
        const file = join(cwd, `block-${line}.${language}`)
        await writeFile(file, script)
        const command = language === 'sh' ? ['bash', '-euo', 'pipefail', file] : ['bun', file]
        const { status, out, err } = await execute(
          command,
          language === 'sh' ? env : { ...env, CSTP_TOKEN: token },
          cwd,
        )
        // A service answers what it refuses with status 200.
        const refused = /"error":\{"code":-?\d+[^\n]*/.exec(out)?.[0]
        expect({ status, refused, said: status === 0 ? '' : out + err }).toEqual({
          status: 0,
          refused: undefined,
          said: '',
        })
        if (prints !== null)
          expect({ missing: missing(prints, out), out: masked(out) }).toEqual({ missing: [], out: masked(out) })
      })
    }
  })
}

async function lastId(env: Record<string, string>, cwd: string): Promise<string> {
  const { out } = await execute(['cstp', 'call', 'listDecisions', '{"limit":1}'], env, cwd)
  return (JSON.parse(out) as { decisions: { id: string }[] }).decisions[0]?.id ?? '<id>'
}

async function execute(command: string[], env: Record<string, string>, cwd: string) {
  const path = Bun.which(command[0]!, { PATH: env.PATH! })!
  return run([path, ...command.slice(1)], { cwd, env })
}

test('blocks are found, indented ones and their marks too', () => {
  const text = 'a\n```sh\nx\n```\n1. b\n   ```sh no-run it is slow\n   y\n     z\n   ```\n```ts no-run\n```\n'
  expect(blocksOf('p', text)).toEqual([
    { page: 'p', line: 2, language: 'sh', unrun: null, text: 'x\n', prints: null },
    { page: 'p', line: 6, language: 'sh', unrun: 'it is slow', text: 'y\n  z\n', prints: null },
    { page: 'p', line: 10, language: 'ts', unrun: '', text: '', prints: null },
  ])
})

test('what a block prints is the text block that follows at once', () => {
  const text = '```sh\nx\n```\n\n```text\ny\n```\n```sh\nz\n```\nprints\n```text\nno\n```\n'
  expect(blocksOf('p', text).map(({ language, prints }) => [language, prints])).toEqual([
    ['sh', 'y\n'],
    ['sh', null],
    ['text', null],
  ])
})

test('what is shown must be printed, in its order', () => {
  const printed = '{\n  "id": "2026-01-02-decision-0123456789ab",\n  "date": "2026-01-02"\n}\n3 of 26, in 12 ms\n'
  expect(missing('{\n…\n  "date": "2020-09-09"\n…\n3 of 26, in 8 ms\n', printed)).toEqual([])
  expect(missing('  "id": "2020-01-01-decision-ba9876543210",\n', printed)).toEqual([])
  expect(missing('4 of 26, in 12 ms\n', printed)).toEqual(['4 of 26, in <n> ms'])
  expect(missing('3 of 26, in 12 ms\n{\n', printed)).toEqual(['{'])
})
