/** cstp doctor: reports problems with settings and data, and how to fix them. */
import { ConfigError } from '../app/config/config.ts'
import type { Examined, Finding, Severity } from '../app/doctor/doctor.ts'
import { defineCommand } from './command.ts'
import { type Paint, plain, plural, print, type Terminal, wrap } from './terminal.ts'

/** Findings of one check that the text output shows; JSON has all of them. */
const maxShown = 10
const rank: Severity[] = ['error', 'warning', 'note']
const colours = { error: 'red', warning: 'yellow', note: 'dim' } as const satisfies Record<Severity, keyof Paint>
const label = 10

function findingLines({ severity, what, fix }: Finding, { paint, width }: Terminal): string[] {
  const room = Math.min(width, 100) - label - 2
  const [first = '', ...rest] = wrap(plain(what), room)
  const blank = ' '.repeat(label)
  return [
    `  ${paint[colours[severity]](severity.padEnd(label))}${first}`,
    ...rest.map((line) => `  ${blank}${line}`),
    ...wrap(`→ ${plain(fix)}`, room).map((line, at) => `  ${blank}${at === 0 ? '' : '  '}${paint.cyan(line)}`),
  ]
}

function show({ name, findings }: Examined, terminal: Terminal): string {
  const { paint } = terminal
  const failed = findings.some(({ severity }) => severity !== 'note')
  const head = `${failed ? paint.red('✗') : paint.green('✓')} ${paint.bold(name)}`
  const sorted = findings.toSorted((a, b) => rank.indexOf(a.severity) - rank.indexOf(b.severity))
  const lines = sorted.slice(0, maxShown).flatMap((finding) => findingLines(finding, terminal))
  const more = sorted.length - maxShown
  return `${[head, ...lines, ...(more > 0 ? [`  and ${more} more; --json prints all`] : [])].join('\n')}\n`
}

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check settings and data, and say how to fix what is wrong.',
  about: [
    'Checks the settings, the data directory, the databases, the catalogue against the decision files, the vectors, the chain of evidence, the ledger and the records that its acts refer to, the keys and the guardrail files. Run it on the machine of the data directory; a service may keep running. It changes nothing.',
    'The exit status is 1 if there is an error or a warning; notes alone are fine.',
  ],
  examples: [
    ['cstp doctor', 'of the data directory in the settings'],
    ['cstp doctor --data-dir ./restored --json', 'of another one, for a program'],
  ],
  async run({ terminal, json, env, configuration }) {
    const examined: Examined[] = []
    const add = async (one: Examined) => {
      examined.push(one)
      if (!json) await terminal.out(show(one, terminal))
    }
    try {
      const { settings } = await configuration()
      const { examine } = await import('../app/doctor/doctor.ts')
      for await (const one of examine(settings, env)) await add(one)
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      const fix = 'correct it; the data can only be checked then'
      await add({ name: 'settings', findings: thrown.problems.map((what) => ({ severity: 'error', what, fix })) })
    }
    const findings = examined.flatMap(({ name, findings }) => findings.map((one) => ({ check: name, ...one })))
    const count = (severity: Severity) => findings.filter((one) => one.severity === severity).length
    const [errors, warnings] = [count('error'), count('warning')]
    const healthy = errors + warnings === 0
    const result = { healthy, errors, warnings, notes: count('note'), findings }
    const end = healthy ? 'No problems found.' : `${plural(errors, 'error')}, ${plural(warnings, 'warning')}.`
    await print({ json, terminal }, result, () => `\n${end}\n`)
    return healthy ? 0 : 1
  },
})
