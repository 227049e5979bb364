/** Checks for banned words: prints each use in code and documents with its replacement, and exits with 1 if there is one. */
import { join } from 'node:path'

const places = ['src', 'sdk', 'test', 'docs', 'guardrails', 'README.md', 'SECURITY.md', '.changeset']
/** Generated files follow from their sources; this file lists the words, and its test uses each. */
const exempt =
  /\.gen\.ts$|^docs\/reference\/|\/migrations\/|^src\/generate\/words\.ts$|^test\/generate\/words\.test\.ts$/
const texts = /\.(?:ts|tsx|js|mjs|md|ya?ml|json|sql|css|html|sh|service)$/

const where = '(?:in|on|at|here|there|under|before|behind|beside|between|above|below|inside|outside|beyond|once|next)'

/** Case-insensitive pattern, and its replacement. A space matches any whitespace, including line breaks within a comment. */
export const words: readonly (readonly [pattern: string, better: string])[] = [
  ['anew', 'again, rebuild, reload'],
  ['mend(?:s|ed|ing)?', 'fix'],
  ['who(?:so)?ever|whomever', 'anyone who, whose'],
  ['(?:is|are|was|were|be|been) away', 'is unavailable'],
  ['becom(?:e|es|ing) of|became of', 'outcome, result'],
  [`(?:stand|stands|stood|standing) ${where}`, 'is in, is stored in'],
  [`(?:lie|lies|lay|lain|lying) ${where}`, 'is in, is stored in'],
  ['(?:stand|stands|stood|lie|lies|lay):', 'is in, is stored in'],
  ['(?:is|are|was|were|be|been|being) told(?! apart)', 'is notified, is reported'],
  ['(?:tell|tells|told|telling) of', 'report, notify'],
  ['dear(?:er|est)?', 'expensive'],
  [
    '(?<!\\bthere )(?:is|are|was) no (?:list|number|object|string|text|array|map|address|folder|file|token|decision|JSON|YAML|date|time|name|cstp server)',
    'is not a …, invalid …',
  ],
  ['conscience', 'policy service'],
  ['(?:speak|speaks|spoke|speaking) for', 'support, act as'],
  ['(?:take|takes|took|taking) in', 'import, accept'],
  ['some \\d+', 'about'],
  ['\\d+ an? (?:second|minute|hour|day)', '/s, /min, /h, /d'],
  ['unhurried|patiently', 'without a timeout'],
  ['distrusts?', 'discardIdle'],
  ['notary', 'evidenceServices'],
  ['unfound', 'unindexed'],
  ['oweFile', 'queueFile'],
  ['May I\\?', 'Check guardrails'],
]

const one = (pattern: string): RegExp =>
  new RegExp(`\\b(?:${pattern.replaceAll(' ', '(?:\\s|\\*|//|#)+')})(?!\\w)`, 'gi')
const expressions = words.map(([pattern, better]) => ({ expression: one(pattern), pattern, better }))

export interface Finding {
  line: number
  found: string
  pattern: string
  better: string
}

/** The banned words in a text, from top to bottom. */
export function findWords(text: string): Finding[] {
  const found = expressions.flatMap(({ expression, pattern, better }) =>
    [...text.matchAll(expression)].map((match) => ({ at: match.index, found: match[0], pattern, better })),
  )
  return found
    .sort((a, b) => a.at - b.at)
    .map(({ at, ...rest }) => ({ line: text.slice(0, at).split('\n').length, ...rest }))
}

if (import.meta.main) {
  // The test passes another tree.
  const root = process.argv[2] ?? join(import.meta.dir, '../..')
  const listed = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '--', ...places], {
    cwd: root,
  })
  const files = listed.stdout
    .toString()
    .split('\n')
    .filter((path) => texts.test(path) && !exempt.test(path))
  if (files.length === 0) throw new Error('git lists no files to read')
  for (const path of files) {
    const file = Bun.file(join(root, path))
    if (!(await file.exists())) continue
    for (const { line, found, better } of findWords(await file.text())) {
      console.error(`${path}:${line}: “${found.replace(/(?:\s|\*|\/\/|#)+/g, ' ')}” → ${better}`)
      process.exitCode = 1
    }
  }
}
