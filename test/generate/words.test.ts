/** The list of words that never pass: each is found where it is used, and plain English is left alone. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findWords, words } from '../../src/generate/words.ts'
import { testNeeding } from '../support/needing.ts'

const broken = [
  'The index is made anew.',
  'It is mended at the next start.',
  'Whoever asks may read.',
  'The embedder is away: by words alone.',
  'Say what became of it.',
  'The key stands in a file.',
  'The log lies beside it.',
  'Say how the segments lie: in order.',
  'The caller was told.',
  'Tests tell of it.',
  'The dear one.',
  'This is no list.',
  'Memory and conscience.',
  'The evidence speaks for it.',
  'It takes in events.',
  'It takes some 300 ms.',
  'It makes 30 a second.',
  'visit.unhurried()',
  'distrust()',
  'const notary = 1',
  'unfound',
  'oweFile',
  'May I?',
]

const plain = [
  'There is no list of them; the backend stands for nothing else.',
  'It reads about 300 ms of audio, right away, and applies the amendment.',
  'Records of one id are told apart by their digest; nobody can tell why.',
  'The order in which entries are taken in turn.',
]

test('each word is found in its sentence, and nowhere in plain ones', () => {
  const found = broken.map((text) => findWords(text).map(({ pattern }) => pattern))
  expect(found.filter((one) => one.length !== 1)).toEqual([])
  expect(words.map(([pattern]) => pattern).filter((pattern) => !found.flat().includes(pattern))).toEqual([])
  expect(plain.flatMap(findWords)).toEqual([])
})

test('a line is named where a comment breaks between two words', () => {
  const [one, ...others] = findWords('/**\n * Reports what became\n * of it.\n */')
  expect(one).toMatchObject({ line: 2, better: 'outcome, result' })
  expect(others).toEqual([])
})

async function run(root: string): Promise<{ code: number; text: string }> {
  const command = Bun.spawn([process.execPath, 'src/generate/words.ts', root], { stderr: 'pipe' })
  return { text: await new Response(command.stderr).text(), code: await command.exited }
}

testNeeding('git', 'the command names file, line and a better word; generated files are left out', async () => {
  const root = await mkdtemp(join(tmpdir(), 'cstp-words-'))
  try {
    Bun.spawnSync(['git', 'init', '--quiet', root])
    await Bun.write(join(root, 'src/plain.ts'), '/** Rebuilds the index. */\n')
    expect(await run(root)).toEqual({ code: 0, text: '' })
    for (const path of ['src/a.ts', 'test/b.ts', 'sdk/c.gen.ts', 'docs/reference/d.md', 'elsewhere/e.ts'])
      await Bun.write(join(root, path), '// Fine.\n// Made anew.\n')
    expect(await run(root)).toEqual({
      code: 1,
      text: 'src/a.ts:2: “anew” → again, rebuild, reload\ntest/b.ts:2: “anew” → again, rebuild, reload\n',
    })
  } finally {
    await rm(root, { recursive: true })
  }
})
