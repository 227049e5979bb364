/** Prints the findings of cstp verify, for all kinds of files. */
import { fit, plain, type Terminal, wrap } from './terminal.ts'

const marks = { passed: '✓', failed: '✗', unasked: '·', unproved: '?' } as const
const maxStated = 300

/** A file's claim about itself, cut to length, since it may be megabytes. */
export const stated = (value: unknown): string => fit(plain(String(value).slice(0, maxStated)), maxStated)

/** The common part of all verification reports. */
interface Verification {
  verified: boolean
  checks: readonly { check: string; question: string; result: keyof typeof marks; detail: string }[]
  findings: readonly { check: string; message: string }[]
  proved: readonly string[]
  open: readonly string[]
}

/** @param about lines that describe what was verified */
export function verificationText(
  path: string,
  report: Verification,
  about: readonly string[],
  { width, paint }: Pick<Terminal, 'width' | 'paint'>,
): string {
  const colours = { passed: paint.green, failed: paint.red, unasked: paint.dim, unproved: paint.yellow } as const
  const indented = (text: string, by: number): string[] =>
    wrap(plain(text), Math.max(20, width - by)).map((line, at) => (at === 0 ? line : ' '.repeat(by) + line))
  const lines: string[] = [
    report.verified
      ? paint.green(`${plain(path)} is valid: nothing is wrong with it.`)
      : paint.red(`${plain(path)} is NOT valid.`),
    '',
  ]
  for (const { check, question, result, detail } of report.checks) {
    const note = result === 'unasked' ? 'not requested' : detail
    lines.push(`${colours[result](marks[result])} ${indented(note ? `${question} (${note})` : question, 2).join('\n')}`)
    for (const { message } of report.findings.filter((one) => one.check === check))
      lines.push(`    ${indented(message, 4).join('\n')}`)
  }
  lines.push('', ...about)
  const { proved, open } = report
  const list = (title: string, sentences: readonly string[]) => {
    if (sentences.length > 0) lines.push('', title)
    for (const one of sentences) lines.push(`- ${indented(one, 2).join('\n')}`)
  }
  if (report.verified) {
    list('This is proved:', proved)
    list('This is not proved:', open)
  } else lines.push('', ...open.flatMap((one) => wrap(plain(one), width)))
  return `${lines.join('\n')}\n`
}
