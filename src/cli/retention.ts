/** cstp retention: shows the retention rules, and what they would erase now. */
import { defineCommand } from './command.ts'
import { plain, plural, print, tableText } from './terminal.ts'

const days = (ms: number | null): string => (ms === null ? '' : plural(Math.round(ms / 86_400_000), 'day'))

export const retention = defineCommand({
  name: 'retention',
  summary: 'Print the retention rules, and the decisions that they would erase now.',
  about: [
    'Reads the file of CSTP_RETENTION as serve does, and lists decisions that have been kept for longer than a rule allows. It erases nothing: a running service does so every hour.',
  ],
  examples: [['cstp retention', 'before a service is started with new rules']],
  async run({ terminal, json, configuration }) {
    const { settings } = await configuration()
    const { previewRetention } = await import('../app/retention.ts')
    const { rules, due } = await previewRetention(settings)
    await print({ json, terminal }, { rules, due }, () => {
      if (rules.length === 0) return 'There are no retention rules: everything is kept.\n'
      const list = tableText(
        rules,
        [
          { title: 'kind', text: ({ kind }) => kind },
          { title: 'category', text: ({ category }) => plain(category ?? 'all') },
          { title: 'stakes', text: ({ stakes }) => stakes?.join(' ') ?? 'all' },
          { title: 'at least', text: ({ at_least_ms }) => days(at_least_ms) },
          { title: 'at most', text: ({ at_most_ms }) => days(at_most_ms) },
          { title: 'basis', text: ({ basis }) => plain(basis), grows: true },
        ],
        terminal,
      )
      const ends = due.map(
        ({ rule, decisions, first }) =>
          `${plain(rule)} ends ${plural(decisions, 'decision')}: ${first.join(' ')}${decisions > first.length ? ' …' : ''}`,
      )
      return `${[list, ...(ends.length > 0 ? ends : ['No decision has reached its limit.'])].join('\n')}\n`
    })
  },
})
