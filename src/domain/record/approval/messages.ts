/** Notices as messages that a chat shows by itself: blocks of Slack, an adaptive card of Teams. Texts of agents are shown literally, without markup. */
import { shorten } from '../../../core/quote.ts'

/** The bodies that a webhook can be sent. */
export const noticeFormats = ['json', 'slack', 'teams'] as const
export type NoticeFormat = (typeof noticeFormats)[number]

/** The members of notices that messages show. */
interface NoticeData {
  id?: string
  state?: string
  requester?: string
  agent?: string
  scope?: string
  decided_by?: string | null
  reason?: string | null
  expires_at?: string
  action?: { description: string; category: string | null; stakes: string | null; project: string | null }
  rules?: { name: string }[]
  recommendation?: string
  url?: string
}

const titles: Record<string, (data: NoticeData) => string> = {
  'approval.requested': ({ requester }) => `${requester} asks for an approval`,
  'approval.decided': ({ requester, state, decided_by }) => `${state} by ${decided_by}: request of ${requester}`,
  'action.blocked': ({ agent }) => `An action of ${agent} was blocked`,
  'calibration.drift': ({ agent }) => `Results of ${agent} drift`,
}

const title = (type: string, data: NoticeData): string =>
  titles[type]?.(data) ?? `${type}${data.scope === undefined ? '' : `: ${data.scope}`}`

function linesOf(type: string, data: NoticeData): string[] {
  const { id, action, rules = [], reason, recommendation, expires_at } = data
  const about = action && [action.category, action.stakes && `stakes ${action.stakes}`, action.project]
  return [
    action?.description,
    about?.filter(Boolean).join(' · '),
    rules.length > 0 && `Rules: ${rules.map(({ name }) => name).join(', ')}`,
    reason && `Reason: ${reason}`,
    recommendation,
    type === 'approval.requested' && `${id}, to be answered until ${expires_at}`,
  ].filter((line) => typeof line === 'string' && line !== '') as string[]
}

// Both services refuse longer texts; the page of the button has them whole.
const longest = 1_500

// Slack finds mentions and links in this text, unlike in plain_text.
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const plain = (text: string, most = longest) => ({ type: 'plain_text', text: shorten(text, most), emoji: false })

const slack = (head: string, lines: readonly string[], label: string, url?: string): object => ({
  text: escaped(shorten(head, longest)),
  blocks: [
    { type: 'header', text: plain(head, 150) },
    ...lines.map((line) => ({ type: 'section', text: plain(line) })),
    ...(url === undefined ? [] : [{ type: 'actions', elements: [{ type: 'button', text: plain(label), url }] }]),
  ],
})

// A TextBlock would read Markdown.
const run = (text: string, more: object = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text: shorten(text, longest), ...more }],
})

const teams = (head: string, lines: readonly string[], label: string, url?: string): object => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [run(head, { weight: 'Bolder', size: 'Medium' }), ...lines.map((line) => run(line))],
        ...(url !== undefined && { actions: [{ type: 'Action.OpenUrl', title: label, url }] }),
      },
    },
  ],
})

/** The body to send for a stored notice. */
export function formatted(format: NoticeFormat, body: string): string {
  if (format === 'json') return body
  const { type, data } = JSON.parse(body) as { type: string; data: NoticeData }
  const label = type === 'approval.requested' ? 'Approve or deny' : 'Show'
  const message = format === 'slack' ? slack : teams
  return JSON.stringify(message(title(type, data), linesOf(type, data), label, data.url))
}
