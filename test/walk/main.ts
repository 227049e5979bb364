/**
 * Walks the calls that matter most: which files have lines that run only because of a call, which a reader of the call has to know.
 * `bun test/walk/main.ts [method]` prints them, each with the number of those lines.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const calls = ['recordDecision', 'checkGuardrails', 'queryDecisions']

/** The lines of each file of src that ran in a server that is asked for these methods. */
async function walk(...methods: string[]): Promise<Map<string, Set<string>>> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-walk-'))
  const test = Bun.spawn(
    [
      process.execPath,
      ...['test', '--coverage', '--coverage-reporter=lcov', `--coverage-dir=${dir}`, '--timeout=60000'],
      './test/walk/server.ts',
    ],
    { env: { ...process.env, WALK: methods.join(' ') }, stdout: 'ignore', stderr: 'pipe' },
  )
  const output = await new Response(test.stderr).text()
  if ((await test.exited) !== 0) throw new Error(output)
  const ran = new Map<string, Set<string>>()
  for (const part of (await readFile(join(dir, 'lcov.info'), 'utf8')).split('end_of_record')) {
    const file = /^SF:(src\/.*)$/m.exec(part)?.[1]
    if (file) ran.set(file, new Set([...part.matchAll(/^DA:(\d+),[1-9]/gm)].map(([, line]) => line!)))
  }
  await rm(dir, { recursive: true })
  return ran
}

/** Shares with the calls what every call runs. */
const base = 'getPolicy'
const idle = await walk(base)

for (const method of process.argv.length > 2 ? process.argv.slice(2) : calls) {
  const more = [...(await walk(base, method))].flatMap(([file, lines]) => {
    const { size } = lines.difference(idle.get(file) ?? new Set())
    return size === 0 ? [] : [`${String(size).padStart(6)} ${file}`]
  })
  console.log(`${method}: ${more.length} files\n${more.join('\n')}`)
}
