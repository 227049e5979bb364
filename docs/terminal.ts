/** `npx bun docs/terminal.ts` records the terminal of the README: runs these commands on the demonstration's decisions, and writes their output as an animated SVG. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const action = { description: 'Retry the failed payments until they work', stakes: 'high', confidence: 0.4 }

interface Shown {
  command: string
  args: string[]
  /** Lines of the output that are shown. */
  lines: RegExp
  most: number
}
const shown: Shown[] = [
  {
    command: `cstp query "what should we do when the bank's API is down?" --limit 3`,
    args: ['query', "what should we do when the bank's API is down?", '--limit', '3'],
    lines: /./,
    most: 5,
  },
  {
    command: `cstp call checkGuardrails '{"action":{"description":"Retry …","stakes":"high","confidence":0.4}}'`,
    args: ['call', 'checkGuardrails', JSON.stringify({ action })],
    lines: /"(?:allowed|verdict|message|suggestion)"/,
    most: 4,
  },
  {
    command: 'cstp record "Stop calling the provider for a minute after three failures" --confidence 0.8 …',
    args: [
      ...['record', 'Stop calling the provider for a minute after three failures', '--category', 'reliability'],
      ...['--confidence', '0.8', '--tag', 'payments'],
    ],
    lines: /^recorded/,
    most: 1,
  },
  {
    command: 'cstp review <id> success --result "No order was lost in the outage of May"',
    args: ['review', '<id>', 'success', '--result', 'No order was lost in the outage of May'],
    lines: /./,
    most: 1,
  },
  {
    command: 'cstp call getCalibration',
    args: ['call', 'getCalibration'],
    lines: /"(?:reviewed_decisions|accuracy|mean_confidence)"/,
    most: 3,
  },
]

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(' ', '\u00a0')

const [lineHeight, left, top, columns] = [19, 18, 44, 104]

async function record(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-terminal-'))
  const env = { PATH: process.env.PATH ?? '', HOME: dir, CSTP_DATA_DIR: join(dir, 'data'), CSTP_LOG_LEVEL: 'error' }
  const cstp = (args: string[]): string[] => {
    const { stdout, stderr, exitCode } = Bun.spawnSync(
      [process.execPath, join(root, 'src/main.ts'), ...args, '--local'],
      {
        cwd: root,
        env,
      },
    )
    if (exitCode !== 0) throw new Error(`cstp ${args[0]}: ${stderr}`)
    return stdout.toString().trimEnd().split('\n')
  }
  try {
    cstp(['import', 'docs/demo/decisions.jsonl'])
    let [at, row] = [0.4, 0]
    const texts: string[] = []
    const put = (text: string, kind: string): void => {
      const cut = text.length > columns ? `${text.slice(0, columns - 1)}…` : text
      const y = top + row++ * lineHeight
      texts.push(
        `<text class="${kind}" x="${left}" y="${y}" style="animation-delay:${at.toFixed(1)}s">${escaped(cut)}</text>`,
      )
    }
    let id = ''
    for (const { command, args, lines, most } of shown) {
      put(`$ ${command}`, 'in')
      at += 0.9
      const printed = cstp(args.map((one) => (one === '<id>' ? id : one)))
      id = /^recorded (\S+)/.exec(printed[0] ?? '')?.[1] ?? id
      for (const line of printed.filter((one) => lines.test(one)).slice(0, most))
        put(line.replace(/^ {2,}(?=")/, ''), 'out')
      at += 1.6
      row++
    }
    return frame(texts, top + row * lineHeight)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const frame = (
  texts: string[],
  height: number,
): string => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 ${height}" role="img" aria-labelledby="title">
<title id="title">cstp in a terminal: ask, check, record, what is due</title>
<!-- Written by docs/terminal.ts. -->
<style>
  rect { fill: #0d1117; stroke: #30363d }
  circle { fill: #484f58 }
  text { font: 13.2px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9; animation: show .01s backwards }
  .in { fill: #7ee787 }
  @keyframes show { from { opacity: 0 } }
  @media (prefers-reduced-motion: reduce) { text { animation: none } }
</style>
<rect x=".5" y=".5" width="879" height="${height - 1}" rx="8"/>
<circle cx="20" cy="17" r="5"/><circle cx="38" cy="17" r="5"/><circle cx="56" cy="17" r="5"/>
${texts.join('\n')}
</svg>
`

await writeFile(join(root, 'docs/terminal.svg'), await record())
